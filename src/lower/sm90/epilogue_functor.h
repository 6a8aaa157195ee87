// The pointwise part of a kernel as one functor of emitted CUDA.
#pragma once

#include <string>

#include "emit/code_writer.h"
#include "ir/kernel.h"
#include "lower/sm90/product_form.h"

namespace fact::lower::sm90 {

// The type of a member that reads an extra operand: "Row<bf16>".
std::string operand_type(const ir::Kernel& kernel, const EpilogueForm& extra);
// Whether that type loads two neighbours at once.
bool loads_pairs(const ir::Kernel& kernel, const EpilogueForm& extra);

// Whether the functor has members: every extra operand but a staged one.
bool has_members(const ProductForm& form);

// `struct Finish { ... }`.
void emit_functor(emit::CodeWriter& writer, const ir::Kernel& kernel, const ProductForm& form);

}  // namespace fact::lower::sm90

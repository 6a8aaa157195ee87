// Emits the epilogue of a product as one functor, which the skeletons call for every element.
#pragma once

#include <string>

#include "emit/code_writer.h"
#include "ir/kernel.h"
#include "lower/product/product_form.h"

namespace fact::lower {

// The type of a member that reads an extra operand: "Row<bf16>".
std::string operand_type(const ir::Kernel& kernel, const EpilogueForm& extra);
// A type of the skeletons that depends on the number of batch dimensions: "Extents" for two of
// them, "ExtentsOf<3>" for three.
std::string batch_type(std::string_view name, std::size_t num_batch_dims);
// The template argument for a batch of more than two dimensions: ", 3"; else "".
std::string batch_argument(std::size_t num_batch_dims);
// Which batch dimensions a tensor has, as bits: "0b01" for only the first. `places` is the result
// of batch_places().
std::string batch_bits(const std::vector<int>& places);

// Whether the functor has data members: one for every extra operand except a staged one.
bool has_members(const ProductForm& form);

struct FunctorOptions {
    std::string_view name = "Finish";
    // Set for a skeleton that goes from slab to slab along a row: also emits `fetch_right`, which
    // fetches only the tensors that vary along N, and kPeriod, the number of columns after which
    // all of these repeat, if they do.
    bool walked = false;
};
void emit_functor(emit::CodeWriter& writer, const ir::Kernel& kernel, const ProductForm& form,
                  const FunctorOptions& options = {});

}  // namespace fact::lower

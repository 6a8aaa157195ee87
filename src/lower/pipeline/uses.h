// Who reads a value, and what may be computed in one go with it.
#pragma once

#include <optional>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// Expressions that some output needs; one that reads it twice is there twice. Logarithms of sums
// are computed beside an attention, not from it.
std::vector<ir::ExprId> users_of(const ir::Kernel& kernel, ir::ExprId id);
// Whether an output stores it and nothing else reads it.
bool is_only_output(const ir::Kernel& kernel, ir::ExprId id);
// Whether that is one output, of this type.
bool is_one_output(const ir::Kernel& kernel, ir::ExprId id, DType dtype);

// Where the stage of an attention ends: behind the reorderings and the rounding to its operands'
// type that alone read it.
struct AttentionEnd {
    ir::ExprId last{};
    bool narrow = false;  // what is stored there has the operands' type
};
AttentionEnd attention_end(const ir::Kernel& kernel, ir::ExprId attention);
// What its kernel writes beside, of the logarithms of its sums: each where it is an f32 output,
// reordered maybe, else as it is.
std::vector<ir::ExprId> log_sums_of(const ir::Kernel& kernel, ir::ExprId attention);
// What it reads from memory: its operands behind reorderings; of its bias, which the kernel
// computes itself, what is not pointwise or lies so that its rows are far apart in memory.
std::vector<ir::ExprId> attention_reads(const ir::Kernel& kernel, const ir::Attention& node);

// Of a stage with a product, what follows from reductions that read no product, as far as it has
// their shape: a row's deviation, which an epilogue reads. Nothing where there is no such.
std::optional<ir::ExprId> reduced_beside(const ir::Kernel& kernel,
                                         const std::vector<ir::ExprId>& stage);

}  // namespace fact::lower

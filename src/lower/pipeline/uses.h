// Which expressions read a value, and what one stage can compute together with it.
#pragma once

#include <optional>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// Whether the kernel has a product or an attention.
bool has_product(const ir::Kernel& kernel);
// The operand of a reduction or a running sum, which are computed row by row; nullopt for other
// nodes.
std::optional<ir::ExprId> along_row(const ir::Node& node);

// The live expressions that read `id`; one that reads it twice is listed twice. LogSumExp is left
// out: it is computed together with an attention, not from its result.
std::vector<ir::ExprId> users_of(const ir::Kernel& kernel, ir::ExprId id);
// Whether `id` is an output and no expression reads it.
bool is_only_output(const ir::Kernel& kernel, ir::ExprId id);
// Whether `id` is exactly one output, of this type, and no expression reads it.
bool is_one_output(const ir::Kernel& kernel, ir::ExprId id, DType dtype);

// The last value of an attention's stage: it includes reorderings and the cast to the operands'
// type as long as nothing else reads the value.
struct AttentionEnd {
    ir::ExprId last{};
    bool narrow = false;  // it is stored in the operands' type
};
AttentionEnd attention_end(const ir::Kernel& kernel, ir::ExprId attention);
// The LogSumExp values that the attention's kernel also writes. One that is only reordered into an
// f32 output is listed as that output.
std::vector<ir::ExprId> log_sums_of(const ir::Kernel& kernel, ir::ExprId attention);
// What attention reads from memory: q, k and v without reorderings, then parts of the bias that its
// kernel cannot compute (they are not pointwise) or would read slowly because of their layout.
std::vector<ir::ExprId> attention_reads(const ir::Kernel& kernel, const ir::Attention& node);

// In a stage with a product: a value that is computed from reductions but from no product, and that
// an expression of another shape or the product's epilogue reads, such as the deviation of a row.
std::optional<ir::ExprId> row_value_for_epilogue(const ir::Kernel& kernel,
                                                 const std::vector<ir::ExprId>& stage);

}  // namespace fact::lower

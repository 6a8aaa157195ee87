// Stages of products in the product's own dimensions: a tensor [B, P, Q, F] that is contiguous
// across B, P and Q is also a matrix [B*P*Q, F], and what the stage does with it needs no more.
#pragma once

#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "lower/pipeline/extract.h"

namespace fact::lower {

// A tensor's dimensions under the names of others: each of `dims` is a run of the tensor's, and
// `runs` are their lengths.
struct MergedDims {
    std::vector<ir::DimId> dims;
    std::vector<int> runs;
};
// nullopt if a dimension of the tensor belongs to none of `wanted`.
std::optional<MergedDims> merged_dims(const ir::Kernel& kernel,
                                      const std::vector<ir::DimId>& tensor,
                                      const std::vector<ir::DimId>& wanted);

// Whether the expression is a view that only merges neighbouring dimensions.
bool is_merging(const ir::Kernel& kernel, ir::ExprId id);

// Rewrites the stage of a product without views: its tensors have the product's dimensions, and
// `merged` says which. A stage that cannot be written so stays as it is.
void merge_dims(Extracted& stage);

}  // namespace fact::lower

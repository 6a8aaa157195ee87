// A kernel seen as what the attention skeletons compute: which tensors it reads and writes, and
// how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "lower/product/product_form.h"
#include "support/result.h"

namespace fact::lower {

inline constexpr int kMaxFeatures = 256;  // per head: sums over more do not fit into registers

// A tensor and the roles of its dimensions; -1: it has no such dimension.
struct AttentionOperand {
    int tensor = -1;  // counted over parameters, then outputs
    int rows = -1, features = -1;
    std::vector<int> batch;  // the index of each of AttentionForm::batch
};

struct AttentionForm {
    ir::Attention node;
    Span span;
    DType dtype{};  // of operands and output
    std::vector<ir::DimId> batch;
    ir::DimId m{}, n{}, d{}, e{};              // q[m, d], k[n, d], v[n, e]
    std::int64_t depth = 0, width = 0;         // extents of d and e
    AttentionOperand q, k, v, y;               // y: the output
    std::optional<AttentionOperand> log_sums;  // its second output, without features
    int heads = -1;            // index in `batch` of the heads, if some share keys; -1: none do
    std::int64_t repeats = 1;  // how many neighbouring heads share keys
    std::optional<ProductForm> bias;  // added to the scores; made by pointwise_form

    std::size_t num_batch_dims() const { return lower::num_batch_dims(batch); }
};

// `extents`: of the kernel's dimensions by id; those of the features must be known. An Error says
// what no attention skeleton can express.
Result<AttentionForm> attention_form(const ir::Kernel& kernel,
                                     const std::vector<std::int64_t>& extents);
// The Error for what one of the attention skeletons cannot express.
Error attention_error(const ir::Kernel& kernel, const std::string& what);

}  // namespace fact::lower

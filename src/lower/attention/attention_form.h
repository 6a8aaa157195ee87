// Which tensors a kernel that is one attention reads and writes, and how: what its skeletons share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "lower/product/product_form.h"
#include "support/result.h"

namespace fact::lower {

inline constexpr int kMaxFeatures = 256;  // of a head: sums of more do not fit into registers

// A tensor and which of its dimensions plays which part; -1: none.
struct AttentionOperand {
    int tensor = -1;  // parameters, then the output
    int rows = -1, features = -1;
    std::vector<int> batch;
};

struct AttentionForm {
    ir::Attention node;
    Span span;
    DType dtype{};  // of operands and output
    std::vector<ir::DimId> batch;
    ir::DimId m{}, n{}, d{}, e{};       // q[m, d], k[n, d], v[n, e]
    std::int64_t depth = 0, width = 0;  // extents of d and e
    AttentionOperand q, k, v, y;
    std::optional<AttentionOperand> log_sums;  // its second output, without features
    int heads = -1;            // which of the batch is of heads that share keys; -1: none
    std::int64_t repeats = 1;  // how many neighbours share them
    std::optional<ProductForm> bias;

    std::size_t num_batches() const { return lower::num_batches(batch); }
};

// `extents`: of the kernel's dimensions by id; the features' must be known. An Error says what no
// skeleton of attention can express.
Result<AttentionForm> attention_form(const ir::Kernel& kernel,
                                     const std::vector<std::int64_t>& extents);
// The same for what one of them cannot.
Error no_attention(const ir::Kernel& kernel, const std::string& what);

}  // namespace fact::lower

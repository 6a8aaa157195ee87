// Cuts a kernel into stages that one skeleton each can compute: products with their epilogues,
// attention, and row kernels. Intermediates are stored in memory between them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "lower/product/row_statistics.h"
#include "support/result.h"

namespace fact::lower {

enum class StageKind { product, rows, attention };
// In words: "row by row".
std::string_view describe(StageKind kind);

struct Stage {
    StageKind kind{};
    ir::Kernel kernel;
    // The number of the pipeline's tensor for each of the kernel's parameters and outputs.
    std::vector<int> params, outputs;
    std::vector<std::vector<int>> merged = {};     // Extracted::merged
    std::optional<RowStatistics> statistics = {};  // computed by the product's kernel itself
};

struct Pipeline {
    // The kernel that was cut. The pipeline's tensors are its parameters, its outputs, then the
    // intermediates.
    ir::Kernel kernel;
    std::vector<ir::Tensor> intermediates;  // each contiguous
    std::vector<Stage> stages;              // in the order they run
    std::vector<std::string> cuts;          // a sentence per stored value: why it is stored

    int num_tensors() const {
        return static_cast<int>(kernel.params.size() + kernel.outputs.size() +
                                intermediates.size());
    }
};

// For every tensor of the pipeline, the parameters that it is computed from, in ascending order.
// Parameters that only supply extents are included.
std::vector<std::vector<int>> origins(const Pipeline& pipeline);
// Whether the stage writes only intermediates.
bool writes_only_intermediates(const Pipeline& pipeline, const Stage& stage);

// What the stages of products may use.
struct CutOptions {
    bool two_sums = false;  // ProductForm::takes_two_sums()
    bool windows = false;   // windows as operands: OperandForm::windows
    bool scatters = false;  // ProductForm::scattered
    // Rows of windows that overlap in memory: extents as with_few_channels() takes them, or none.
    std::vector<std::int64_t> few_channels = {};
    bool operator==(const CutOptions&) const = default;
};
// An Error names what no skeleton can compute.
Result<Pipeline> cut(const ir::Kernel& kernel, const CutOptions& options);

}  // namespace fact::lower

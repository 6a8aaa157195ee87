// Cuts a kernel into what single skeletons can hold: products with their epilogues, attention, and
// row kernels, with named values kept in memory between them.
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
    // Which tensor of the pipeline each of the kernel's own is.
    std::vector<int> params, outputs;
    std::optional<RowStatistics> statistics = {};  // that the product's kernel finds itself
};

struct Pipeline {
    ir::Kernel kernel;  // the whole: its parameters and outputs are the first tensors
    std::vector<ir::Tensor> intermediates;  // the tensors after those, contiguous
    std::vector<Stage> stages;              // in the order they run
    std::vector<std::string> cuts;          // a sentence for each value kept, and why

    int num_tensors() const {
        return static_cast<int>(kernel.params.size() + kernel.outputs.size() +
                                intermediates.size());
    }
};

// For every tensor of the pipeline the parameters its values follow from, in ascending order. What
// only tells a stage its extents is among them.
std::vector<std::vector<int>> origins(const Pipeline& pipeline);
// Whether all that the stage writes is kept between stages.
bool writes_intermediates(const Pipeline& pipeline, const Stage& stage);

// With `two_sums`, epilogues may take a second sum of the tile: ProductForm::takes_two_sums().
// An Error names what no skeleton can compute.
Result<Pipeline> cut(const ir::Kernel& kernel, bool two_sums);

}  // namespace fact::lower

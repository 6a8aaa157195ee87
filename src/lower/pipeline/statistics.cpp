#include "lower/pipeline/statistics.h"

#include <algorithm>

#include "lower/product/product_form.h"

namespace fact::lower {

namespace {

// The stage that reads what this one writes; nullptr if there are several or none.
Stage* reader_of(Pipeline& pipeline, const Stage& writer) {
    Stage* reader = nullptr;
    for (Stage& stage : pipeline.stages)
        for (const int tensor : writer.outputs)
            if (std::ranges::find(stage.params, tensor) != stage.params.end()) {
                if (reader && reader != &stage) return nullptr;
                reader = &stage;
            }
    return reader;
}

// The epilogue's parameters that the row stage writes; nullopt if the stage's rows are not the
// product's first operand, with dimensions in the product's order.
std::optional<std::vector<int>> epilogue_params(const Stage& product, const Stage& rows) {
    const auto form = product_form(product.kernel);
    const auto tensor = [&](int param) { return product.params[static_cast<std::size_t>(param)]; };
    if (!form || tensor(form->a.param) != rows.params.front()) return std::nullopt;
    std::vector<ir::DimId> dims = form->batch;
    dims.insert(dims.end(), {form->m, form->k});
    if (rows.kernel.params.front().type.dims != dims) return std::nullopt;
    std::vector<int> params;
    for (const int number : rows.outputs) {
        const auto extra = std::ranges::find(
            form->extras, number, [&](const EpilogueForm& e) { return tensor(e.tensor); });
        if (extra == form->extras.end()) return std::nullopt;
        params.push_back(extra->tensor);
    }
    return params;
}

}  // namespace

void merge_statistics(Pipeline& pipeline, const std::function<bool(const Stage&)>& is_supported) {
    for (std::size_t i = 0; i < pipeline.stages.size();) {
        const Stage& rows = pipeline.stages[i++];
        if (rows.kind != StageKind::rows || rows.params.size() != 1 ||
            !writes_only_intermediates(pipeline, rows))
            continue;
        Stage* const product = reader_of(pipeline, rows);
        if (!product || product->kind != StageKind::product || product->statistics) continue;
        auto params = epilogue_params(*product, rows);
        if (!params) continue;
        auto statistics = row_statistics(rows.kernel, std::move(*params));
        if (!statistics || !is_supported(*product)) continue;
        product->statistics = std::move(statistics);
        pipeline.stages.erase(pipeline.stages.begin() + static_cast<std::ptrdiff_t>(--i));
    }
}

}  // namespace fact::lower

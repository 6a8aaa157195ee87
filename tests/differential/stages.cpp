#include "stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/extents.h"
#include "ir/interpreter.h"
#include "lower/pipeline/lower.h"
#include "lower/rows/flips.h"
#include "lower/rows/rows_form.h"
#include "values.h"

namespace fact::differential {

namespace {

// The tensor with runs of dimensions merged (Stage::merged).
ir::TensorView merged(const ir::TensorView& tensor, const std::vector<int>& runs) {
    ir::TensorView view{tensor.data, tensor.dtype, {}, {}};
    std::size_t dim = 0;
    for (const int run : runs) {
        std::int64_t size = 1;
        for (int i = 0; i < run; ++i, ++dim) size *= tensor.sizes[dim];
        view.sizes.push_back(size);
        view.strides.push_back(tensor.strides[dim - 1]);
    }
    return view;
}

// What the stage's kernel is given for its tensors, counted from `first` among parameters and
// outputs.
std::vector<ir::TensorView> bound(const lower::Stage& stage, const std::vector<int>& numbers,
                                  std::size_t first, const std::vector<ir::TensorView>& tensors) {
    std::vector<ir::TensorView> views;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const ir::TensorView& tensor = tensors[static_cast<std::size_t>(numbers[i])];
        views.push_back(stage.merged.empty() ? tensor : merged(tensor, stage.merged[first + i]));
    }
    return views;
}

Result<> run_stages(const lower::Pipeline& pipeline, const std::vector<ir::TensorView>& tensors) {
    for (const lower::Stage& stage : pipeline.stages) {
        const auto in = bound(stage, stage.params, 0, tensors);
        const auto out = bound(stage, stage.outputs, stage.params.size(), tensors);
        const bool rows = stage.kind == lower::StageKind::rows;
        // As it is emitted: flips move to what is read.
        const ir::Kernel emitted = rows ? lower::flips_at_leaves(stage.kernel) : stage.kernel;
        if (rows)
            if (auto form = lower::rows_form(emitted); !form) return form.error();
        if (auto done = ir::interpret(emitted, in, out); !done) return done;
    }
    return Ok{};
}

}  // namespace

std::string difference_of_stages(const Program& program, std::uint32_t seed, bool sm80) {
    // Extents that are not known are taken for large and aligned ones, as small ones are not.
    lower::LowerOptions options;
    if (seed % 3 == 0) options.extents = program.extents;
    options.tma = !sm80;
    // Statistics that a product computes by itself are no stage.
    auto pipeline = lower::stages(program.kernel, options);
    if (!pipeline) return pipeline.error().text();
    if (std::ranges::any_of(pipeline->stages,
                            [](const lower::Stage& stage) { return stage.statistics.has_value(); }))
        return "";

    auto extents = program.extents;
    extents.resize(pipeline->kernel.dims.size(), ir::kUnknownExtent);
    if (auto why = ir::solve_extents(pipeline->kernel, extents); !why.empty()) return why;
    Run whole = interpreted(program, seed);
    std::vector<tools::HostTensor> outputs, intermediates;
    for (const auto& output : whole.outputs)
        outputs.push_back(tools::empty_tensor(output.dtype, output.sizes));
    for (const ir::Tensor& tensor : pipeline->intermediates) {
        std::vector<std::int64_t> sizes;
        for (const ir::DimId dim : tensor.type.dims) sizes.push_back(extents[ir::index(dim)]);
        const bool is_floating = info(tensor.type.dtype).floating;
        intermediates.push_back(
            tools::empty_tensor(is_floating ? DType::f64 : tensor.type.dtype, std::move(sizes)));
    }
    std::vector<ir::TensorView> tensors;
    for (auto* some : {&whole.inputs, &outputs, &intermediates})
        for (auto& tensor : *some) tensors.push_back(tensor.view());
    if (auto done = run_stages(*pipeline, tensors); !done) return done.error().text();

    // Attention that no skeleton computes rounds its probabilities on the way.
    const bool rounds = rounds_to_tf32(program) ||
                        std::ranges::any_of(program.kernel.exprs, [](const ir::Expr& expr) {
                            return std::holds_alternative<ir::Attention>(expr.node);
                        });
    const double allowed = rounds ? 0x1p-6 : 1e-9;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto got = widened(outputs[i]), want = widened(whole.outputs[i]);
        for (std::size_t j = 0; j < want.size(); ++j) {
            const bool same = got[j] == want[j] || (std::isnan(got[j]) && std::isnan(want[j])) ||
                              std::abs(got[j] - want[j]) <= allowed * (1 + std::abs(want[j]));
            if (!same)
                return fmt::format("output {} is {} instead of {} at {}",
                                   program.kernel.outputs[i].tensor.name, got[j], want[j], j);
        }
    }
    return "";
}

}  // namespace fact::differential

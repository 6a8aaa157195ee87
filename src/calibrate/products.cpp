#include "calibrate/products.h"

#include <fmt/format.h>

#include "dsl/dsl.h"
#include "lower/pipeline/lower.h"
#include "schedule/schedule.h"
#include "schedule/skeletons.h"

namespace fact::calibrate {

namespace {

struct ProductRow {
    std::string_view name;
    DType dtype;
    std::string_view product;
};
constexpr ProductRow kProductRows[] = {
    {"bf16", DType::bf16, "x @ w.T"},
    {"f16", DType::f16, "x @ w.T"},
    {"tf32", DType::f32, "matmul(x, w.T, precision: tf32)"},
    {"f32_split", DType::f32, "x @ w.T"},
};

Result<ProductProbe> make(const ProductRow& row, std::string_view arch, int schedules,
                          std::int64_t size) {
    ProductProbe probe;
    probe.name = row.name;
    probe.dtype = row.dtype;
    probe.m = probe.n = probe.k = size;
    const auto type = info(row.dtype).name;
    probe.text = fmt::format(
        "kernel ceiling_{0}(x: {1}[M, K], w: {1}[N, K]) -> (y: {1}[M, N]) {{\n"
        "  acc = {2}\n"
        "  y = acc\n"
        "}}\n",
        row.name, type, row.product);
    Diagnostics diagnostics;
    const auto program = dsl::compile(probe.text, diagnostics);
    if (!program || program->kernels.size() != 1)
        throw InternalError("calibration's own kernel text is wrong:\n" +
                            render_all(diagnostics, probe.name, probe.text));
    const ir::Kernel& kernel = program->kernels.front();
    lower::LowerOptions options;
    options.arch = arch;
    options.extents.assign(kernel.dims.size(), size);
    const auto plans = lower::plan_products(kernel, options);
    if (!plans) return plans.error();
    for (const auto& schedule :
         schedule::candidates(plans->front().skeleton, plans->front().problem)) {
        if (static_cast<int>(probe.kernels.size()) == schedules) break;
        // Stream-K and split-K are for products with few tiles; their blocks wait for one another.
        if (schedule.scheduler != schedule::Scheduler::persistent) continue;
        options.schedule = [&](const std::string&) { return &schedule; };
        auto lowered = lower::lower(kernel, options);
        if (!lowered) continue;
        probe.kernels.push_back({schedule::to_string(schedule), std::move(lowered->source),
                                 std::move(lowered->record)});
    }
    if (probe.kernels.empty())
        return Error{fmt::format("no schedule fits the {} product on {}", row.name, arch), ""};
    return probe;
}

}  // namespace

Result<std::vector<ProductProbe>> product_probes(std::string_view arch, int schedules,
                                                 std::int64_t size) {
    std::vector<ProductProbe> probes;
    for (const ProductRow& row : kProductRows) {
        auto probe = make(row, arch, schedules, size);
        if (!probe) return probe.error();
        probes.push_back(std::move(*probe));
    }
    return probes;
}

}  // namespace fact::calibrate

#include "tools/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/typing.h"
#include "sol/bound.h"
#include "tools/explain_schedule.h"
#include "tools/explain_steps.h"
#include "tools/products.h"

namespace fact::tools {
namespace {

std::string flops_text(double flops) {
    if (flops >= 1e12) return fmt::format("{:.4g} TFLOP", flops * 1e-12);
    if (flops >= 1e9) return fmt::format("{:.4g} GFLOP", flops * 1e-9);
    return fmt::format("{:.4g} MFLOP", flops * 1e-6);
}

std::string time_text(double microseconds) {
    if (microseconds >= 1e3) return fmt::format("{:.3g} ms", microseconds * 1e-3);
    return fmt::format("{:.3g} us", microseconds);
}

std::string tensor_text(const ir::Kernel& kernel, const ir::Tensor& tensor,
                        const Extents& extents) {
    return fmt::format("{}: {}{}, {}", tensor.name, info(tensor.type.dtype).name,
                       ir::to_string(kernel, tensor.type.dims),
                       bytes_text(bytes_of(tensor, extents)));
}

std::string tensors(const ir::Kernel& kernel, const Extents& extents) {
    std::string text = "reads\n";
    for (const ir::Tensor& param : kernel.params)
        text += "  " + tensor_text(kernel, param, extents) + "\n";
    text += "writes\n";
    for (const ir::Output& output : kernel.outputs)
        text += "  " + tensor_text(kernel, output.tensor, extents) + "\n";
    return text;
}

// The two bounds, and what sets them: traffic and arithmetic overlap, products do not.
std::string bounds(const ir::Kernel& kernel, const Extents& extents, const GpuSpec& gpu) {
    const Traffic traffic = least_traffic(kernel, extents);
    const double bytes = traffic.read + traffic.written;
    double flops = 0;
    sol::Bound arithmetic;
    for (const sol::Work& work : arithmetic_of(kernel, extents)) {
        const sol::Bound bound = sol::bound(work, gpu);
        arithmetic.hard_us += bound.hard_us;
        arithmetic.calibrated_us += bound.calibrated_us;
        flops += work.flops;
    }
    const sol::Bound memory = sol::bound({0, bytes, {}}, gpu);
    std::string text = "work\n";
    text += flops > 0 ? fmt::format("  {} in products\n", flops_text(flops)) : "  no products\n";
    text += fmt::format("  at least {} moved: {} read, {} written, each tensor once\n",
                        bytes_text(bytes), bytes_text(traffic.read), bytes_text(traffic.written));
    if (flops > 0 && bytes > 0) text += fmt::format("  {:.4g} flops a byte\n", flops / bytes);
    const auto limit = [](double arithmetic_us, double memory_us) {
        return arithmetic_us > memory_us ? "arithmetic" : "memory";
    };
    text += fmt::format("bounds on {}\n", gpu.name);
    text += fmt::format("  never below {}: its data sheet, limited by {}\n",
                        time_text(std::max(arithmetic.hard_us, memory.hard_us)),
                        limit(arithmetic.hard_us, memory.hard_us));
    const double good = std::max(arithmetic.calibrated_us, memory.calibrated_us);
    text +=
        good < gpu.launch_us
            ? fmt::format("  {} is good: a launch alone takes that long\n",
                          time_text(gpu.launch_us))
            : fmt::format("  {} is good: what long products and copies reach, limited by {}\n",
                          time_text(good), limit(arithmetic.calibrated_us, memory.calibrated_us));
    return text;
}

}  // namespace

std::string explain(const dsl::Program& program, const ir::Kernel& kernel, std::string_view text,
                    const Extents& extents, const GpuSpec& gpu) {
    std::string out = fmt::format("kernel {}\n  {}\n", kernel.name, describe(kernel, extents));
    for (std::size_t d = 0; d < kernel.dims.size(); ++d)
        if (extents.assumed[d]) {
            out += fmt::format("  say how large with --set, such as --set {}=1024\n",
                               kernel.dims[d].name);
            break;
        }
    out += tensors(kernel, extents) + "computes\n";
    const auto steps = computed_steps(kernel, extents, text);
    for (std::size_t i = 0; i < steps.size(); ++i)
        out += fmt::format("  {}. {}\n", i + 1, steps[i]);
    return out + bounds(kernel, extents, gpu) + explain_schedules(program, kernel, extents, gpu);
}

}  // namespace fact::tools

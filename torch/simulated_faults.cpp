#include "torch/simulated_faults.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

namespace fact::exec {

namespace {

// What a faulty kernel remembers from launch to launch.
struct Memory {
    int launches = 0;
    const void* address = nullptr;
    Tensors answers;
};

struct Call {
    const LaunchKernel& honest;
    const Tensors& inputs;
    const Tensors& outputs;
    const WorkspaceSource& workspace;
    Memory& memory;

    Result<> run_honestly() const { return honest(inputs, outputs, workspace); }
};

using Defect = Result<> (*)(const Call& call);

Result<> none(const Call& call) {
    return call.run_honestly();
}

Result<> zeros(const Call& call) {
    for (const auto& output : call.outputs) output.zero_();
    return Ok{};
}

// Writes only every other row.
Result<> half_tile(const Call& call) {
    Tensors whole;
    for (const auto& output : call.outputs) whole.push_back(output.clone());
    auto done = call.honest(call.inputs, whole, call.workspace);
    for (std::size_t i = 0; i < whole.size(); ++i)
        call.outputs[i].slice(0, 0, std::nullopt, 2).copy_(whole[i].slice(0, 0, std::nullopt, 2));
    return done;
}

Result<> outside(const Call& call) {
    auto done = call.run_honestly();
    const auto& output = call.outputs[0];
    std::memset(static_cast<std::byte*>(output.data_ptr()) + output.nbytes(), 0, 16);
    return done;
}

Result<> changes_inputs(const Call& call) {
    auto done = call.run_honestly();
    call.inputs[0].mul_(2);
    return done;
}

// Adds to the outputs' previous contents, except NaN: its results are right if outputs held NaN.
Result<> stale_output(const Call& call) {
    Tensors before;
    for (const auto& output : call.outputs) before.push_back(output.nan_to_num(0));
    auto done = call.run_honestly();
    for (std::size_t i = 0; i < before.size(); ++i) call.outputs[i].add_(before[i], 0.25);
    return done;
}

// Depends on the previous contents of its workspace, except NaN.
Result<> uses_workspace(const Call& call) {
    auto done = call.run_honestly();
    const auto scratch =
        call.workspace ? call.workspace({16}, at::kFloat) : at::zeros({16}, at::kFloat);
    call.outputs[0].add_(scratch.nan_to_num(0).clamp(-1, 1).mean().item<double>());
    return done;
}

// Right on the first launch with its addresses, then always the same result.
Result<> caches_by_pointer(const Call& call) {
    auto& [launches, address, answers] = call.memory;
    if (address == call.inputs[0].const_data_ptr() &&
        answers[0].sizes() == call.outputs[0].sizes()) {
        for (std::size_t i = 0; i < answers.size(); ++i) call.outputs[i].copy_(answers[i]);
        return Ok{};
    }
    auto done = call.run_honestly();
    address = call.inputs[0].const_data_ptr();
    answers.clear();
    for (const auto& output : call.outputs) answers.push_back(output.clone());
    return done;
}

Result<> odd_sizes(const Call& call) {
    auto done = call.run_honestly();
    const auto& output = call.outputs[0];
    if (output.size(0) % 2 != 0) output.select(0, output.size(0) - 1).zero_();
    return done;
}

// One launch in nine differs in its last bits.
Result<> races(const Call& call) {
    auto done = call.run_honestly();
    const auto& output = call.outputs[0];
    const double ulp = output.scalar_type() == at::kFloat ? 0x1p-22 : 0x1p-7;
    if (++call.memory.launches % 9 == 0) output.mul_(1 + ulp);
    return done;
}

// As if computed in fewer bits than declared: f32 as bf16, 16-bit types in eight.
Result<> low_precision(const Call& call) {
    auto done = call.run_honestly();
    for (const auto& output : call.outputs) {
        const bool wide = output.scalar_type() == at::kFloat;
        output.copy_(output.to(wide ? at::kBFloat16 : at::kFloat8_e4m3fn));
    }
    return done;
}

// Rounds operands to fixed steps, whatever the magnitude of a row.
Result<> fixed_point(const Call& call) {
    Tensors rounded;
    for (const auto& input : call.inputs) {
        const double steps = input.scalar_type() == at::kFloat ? 0x1p22 : 0x1p12;
        rounded.push_back(input.to(at::kDouble).mul_(steps).round_().div_(steps).to(input));
    }
    return call.honest(rounded, call.outputs, call.workspace);
}

// Rounds the last rows, which causal attention averages most, to steps that would be small for the
// first rows.
Result<> late_rows(const Call& call) {
    auto done = call.run_honestly();
    const auto& output = call.outputs[0];
    const auto rows = output.size(-2), wrong = rows / 64;
    const double steps = 8 * std::sqrt(static_cast<double>(rows));
    const auto late = output.narrow(-2, rows - wrong, wrong);
    late.copy_(late.to(at::kDouble).mul_(steps).round_().div_(steps));
    return done;
}

// Sets results to zero that are small relative to the largest.
Result<> lost_tail(const Call& call) {
    auto done = call.run_honestly();
    const auto& output = call.outputs[0];
    const auto magnitude = output.to(at::kDouble).abs_();
    output.masked_fill_(magnitude.lt(magnitude.max().item<double>() * 0x1p-12), 0);
    return done;
}

// Stops working when it is timed: timed launches and those of check_repeats() get no workspace.
Result<> tires(const Call& call) {
    constexpr int kRepeats = 12;  // launches of check_repeats(), which comes before the timing
    if (!call.workspace && ++call.memory.launches > kRepeats) return Ok{};
    return call.run_honestly();
}

constexpr struct {
    std::string_view name;
    Defect defect;
} kFaults[] = {
    {"none", none},    // the interpreter itself, with the whole proof
    {"wrong", zeros},  // another name of `zeros`
    {"zeros", zeros},
    {"half_tile", half_tile},
    {"outside", outside},
    {"changes_inputs", changes_inputs},
    {"stale_output", stale_output},
    {"uses_workspace", uses_workspace},
    {"caches_by_pointer", caches_by_pointer},
    {"odd_sizes", odd_sizes},
    {"races", races},
    {"low_precision", low_precision},
    {"fixed_point", fixed_point},
    {"late_rows", late_rows},
    {"lost_tail", lost_tail},
    {"tires", tires},
};

}  // namespace

std::vector<std::string_view> simulated_faults() {
    std::vector<std::string_view> names;
    for (const auto& fault : kFaults) names.push_back(fault.name);
    return names;
}

Result<Fault> simulated_fault(std::string_view name) {
    if (name.empty()) return Fault([](LaunchKernel honest) { return honest; });
    for (const auto& fault : kFaults)
        if (fault.name == name)
            return Fault([defect = fault.defect](LaunchKernel honest) -> LaunchKernel {
                const auto memory = std::make_shared<Memory>();
                return [=](const Tensors& inputs, const Tensors& outputs,
                           const WorkspaceSource& workspace) {
                    return defect({honest, inputs, outputs, workspace, *memory});
                };
            });
    return Error{fmt::format("the fault '{}' cannot be simulated on a CPU", name),
                 fmt::format("known: hang, crash, {}", fmt::join(simulated_faults(), ", "))};
}

}  // namespace fact::exec

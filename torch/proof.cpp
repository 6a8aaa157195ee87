#include "torch/proof.h"

#include <fmt/format.h>

#include <optional>

#include "torch/stream.h"
#include "torch/tensors.h"

namespace fact::exec {

namespace {

using verify::Check;
using verify::Finding;
using verify::Verdict;

// The bytes of poisoned elements: NaN in every floating type, valid values in other types.
std::uint8_t poison_of(c10::ScalarType dtype) {
    if (c10::isFloatingType(dtype)) return GuardedTensor::kCanary;
    return dtype == at::kBool ? 0x01 : 0x7F;
}

constexpr std::uint8_t kSmall = 0x3B;  // such bytes are a number below one in any floating type

std::string case_name(const Case& drawn) {
    return fmt::format("{} inputs, seed {}", name(drawn), drawn.row_seed.value_or(drawn.seed));
}

}  // namespace

ProofBench::ProofBench(const Oracle& oracle, LaunchKernel launch, c10::Device device)
    : oracle_(oracle), launch_(std::move(launch)), device_(device), outputs_(make_outputs()) {}

Tensors ProofBench::tensors(const Guarded& guarded) {
    Tensors all;
    for (const auto& item : guarded) all.push_back(item.tensor());
    return all;
}

ProofBench::Guarded ProofBench::guarded(const Tensors& inputs) {
    Guarded copies;
    for (const auto& input : inputs) copies.push_back(GuardedTensor::copy_of(input));
    return copies;
}

ProofBench::Guarded ProofBench::make_outputs() const {
    const auto& graph = oracle_.call().original;
    std::vector<std::optional<GuardedTensor>> made(graph.outputs.size());
    for (const auto& [numbers, types, length] : graph::group_outputs(oracle_.call())) {
        if (numbers.size() == 1) {
            made[numbers[0]].emplace(types[0].sizes, types[0].strides, scalar_type(types[0].dtype),
                                     device_);
            continue;
        }
        auto parts = GuardedTensor::sharing(types, length, device_);
        for (std::size_t i = 0; i < parts.size(); ++i) made[numbers[i]] = std::move(parts[i]);
    }
    Guarded outputs;
    for (auto& output : made) outputs.push_back(std::move(output.value()));
    return outputs;
}

void ProofBench::show(const Case& drawn) {
    const auto inputs = oracle_.inputs(drawn);
    if (inputs_.empty())
        inputs_ = guarded(inputs);
    else
        for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].load(inputs[i]);
    shown_ = &drawn;
}

void ProofBench::prepare(Guarded& outputs, Contents::Output contents) const {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        switch (contents) {
            case Contents::Output::poison:
                outputs[i].fill(poison_of(outputs[i].tensor().scalar_type()));
                break;
            case Contents::Output::zeros:
                outputs[i].fill(0);
                break;
            case Contents::Output::small:
                outputs[i].fill(kSmall);
                break;
            // Torch's results with rows in reverse order: plausible values in the wrong places.
            case Contents::Output::stale: {
                const auto& eager = oracle_.numbers(*first_).eager[i];
                outputs[i].tensor().copy_(eager.dim() > 0 ? eager.flip(0) : eager.neg());
                break;
            }
        }
    }
}

Result<> ProofBench::launch(const Guarded& inputs, Guarded& outputs, const Contents& contents) {
    prepare(outputs, contents.output);
    workspaces_.clear();
    const auto workspace = [&](at::IntArrayRef sizes, c10::ScalarType dtype) {
        std::vector<std::int64_t> strides(sizes.size());
        std::int64_t next = 1;
        for (std::size_t d = sizes.size(); d-- > 0; next *= sizes[d]) strides[d] = next;
        auto& made = workspaces_.emplace_back(sizes, strides, dtype, device_);
        made.fill(contents.workspace);
        return made.tensor();
    };
    if (auto done = launch_(tensors(inputs), tensors(outputs), workspace); !done) return done;
    synchronize(device_);
    return Ok{};
}

Verdict ProofBench::check_surroundings(const Guarded& inputs, const Guarded& outputs) const {
    const auto& graph = oracle_.call().original;
    const auto unchanged = oracle_.inputs(*shown_);
    std::vector<at::Tensor> flags;
    std::vector<Verdict> meanings;
    const auto watch = [&](const GuardedTensor& guarded, const std::string& name) {
        flags.push_back(guarded.touched_outside());
        meanings.push_back({Finding::wrote_outside, fmt::format("memory around {} changed", name)});
    };
    for (std::size_t i = 0; i < outputs.size(); ++i)
        watch(outputs[i], graph[*graph.outputs[i].value].name);
    for (std::size_t i = 0; i < workspaces_.size(); ++i)
        watch(workspaces_[i], fmt::format("workspace {}", i));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& name = graph[graph.inputs[i].value].name;
        watch(inputs[i], name);
        flags.push_back(inputs[i].differs_from(unchanged[i]));
        meanings.push_back({Finding::changed_inputs, fmt::format("{} has changed", name)});
    }
    const auto raised = read_flags(flags);
    for (std::size_t i = 0; i < raised.size(); ++i)
        if (raised[i]) return meanings[i];
    return {};
}

bool ProofBench::same(const Guarded& outputs, const std::vector<at::Tensor>& bits) const {
    std::vector<at::Tensor> flags;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        flags.push_back(outputs[i].bits().ne(bits[i]).any());
    for (const bool differs : read_flags(flags))
        if (differs) return false;
    return true;
}

std::vector<at::Tensor> ProofBench::copy_bits(const Guarded& outputs) const {
    std::vector<at::Tensor> copies;
    for (const auto& output : outputs) copies.push_back(output.bits().clone());
    return copies;
}

// How many elements of the last results the kernel does not write: they keep what was there before.
Result<std::int64_t> ProofBench::count_unwritten() {
    std::vector<at::Tensor> poisoned;
    for (const auto& output : outputs_)
        if (output.tensor().is_floating_point()) poisoned.push_back(output.bits().eq(-1));
    if (auto done = launch(inputs_, outputs_, {Contents::Output::small}); !done)
        return done.error();
    std::int64_t count = 0;
    std::size_t next = 0;
    for (const auto& output : outputs_) {
        if (!output.tensor().is_floating_point()) continue;
        const auto& suspects = poisoned[next++];
        const auto width = static_cast<std::int64_t>(output.bits().itemsize());
        const auto changed = output.bits().ne(GuardedTensor::repeated(kSmall, width));
        // A NaN that was computed from the poison has become another number.
        if (suspects.logical_and(changed).any().item<bool>()) return std::int64_t{0};
        count += suspects.sum().item<std::int64_t>();
    }
    return count;
}

Verdict ProofBench::judge(const Case& drawn, const Guarded& outputs, Check& check) const {
    check = oracle_.check(drawn, tensors(outputs));
    if (check.passed) return {};
    return {Finding::wrong_result, fmt::format("{}: {}", case_name(drawn), check.why)};
}

Result<Verdict> ProofBench::check(const Case& drawn) {
    show(drawn);
    if (auto done = launch(inputs_, outputs_, {}); !done) return done.error();
    if (auto found = check_surroundings(inputs_, outputs_); !found.passed()) {
        found.why += " with " + case_name(drawn);
        return found;
    }
    auto found = judge(drawn, outputs_, checks_.emplace_back());
    if (!found.passed()) return diagnose(drawn, std::move(found));
    if (!first_) {
        first_ = &drawn;
        reference_ = copy_bits(outputs_);
    } else if (!second_) {
        second_ = &drawn;
        second_reference_ = copy_bits(outputs_);
    }
    return Verdict{};
}

// Finds the cause of a wrong result by what else changes it.
Result<Verdict> ProofBench::diagnose(const Case& drawn, Verdict found) {
    const auto wrong = copy_bits(outputs_);
    const auto num_unwritten = count_unwritten();
    if (!num_unwritten) return num_unwritten.error();
    if (*num_unwritten > 0)
        return Verdict{Finding::unwritten, fmt::format("{} elements were not written, {}",
                                                       *num_unwritten, case_name(drawn))};
    const struct {
        Contents contents;
        Finding finding;
    } trials[] = {{{}, Finding::not_deterministic},
                  {{Contents::Output::zeros}, Finding::depends_on_output},
                  {{Contents::Output::poison, 0x00}, Finding::depends_on_workspace}};
    for (const auto& trial : trials) {
        if (auto done = launch(inputs_, outputs_, trial.contents); !done) return done.error();
        if (!same(outputs_, wrong)) return Verdict{trial.finding, found.why};
    }
    const auto elsewhere = guarded(oracle_.inputs(drawn));
    auto outputs = make_outputs();
    if (auto done = launch(elsewhere, outputs, {}); !done) return done.error();
    Check check;
    if (judge(drawn, outputs, check).passed()) {
        found.finding = Finding::remembers_inputs;
        found.why += "; the same inputs at other addresses give the right result";
    }
    return found;
}

}  // namespace fact::exec

#include "torch/proof.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>

#include "torch/stream.h"
#include "torch/tensors.h"

namespace fact::exec {

namespace {

using verify::Check;
using verify::Finding;
using verify::Verdict;

// Bytes of poisoned elements: NaN in every floating type. Integers get what torch can still read.
std::uint8_t poison_of(c10::ScalarType dtype) {
    if (c10::isFloatingType(dtype)) return GuardedTensor::kCanary;
    return dtype == at::kBool ? 0x01 : 0x7F;
}

constexpr std::uint8_t kSmall = 0x3B;  // as bytes of any floating type, a number below one

void synchronize_device(c10::Device device) {
    if (device.is_cuda()) c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(device.index());
}

Tensors tensors(const std::vector<GuardedTensor>& guarded) {
    Tensors all;
    for (const auto& item : guarded) all.push_back(item.tensor());
    return all;
}

std::string case_name(const Case& drawn) {
    return fmt::format("{} inputs, seed {}", drawn.distribution, drawn.seed);
}

}  // namespace

ProofBench::ProofBench(const Oracle& oracle, LaunchKernel launch, c10::Device device)
    : oracle_(oracle), launch_(std::move(launch)), device_(device), outputs_(make_outputs()) {}

ProofBench::Guarded ProofBench::make_outputs() const {
    Guarded outputs;
    const auto& graph = oracle_.call().original;
    for (const auto& output : graph.outputs) {
        const auto& type = *graph[*output.value].type;
        outputs.emplace_back(type.sizes, type.strides, scalar_type(type.dtype), device_);
    }
    return outputs;
}

void ProofBench::show(const Case& drawn) {
    if (inputs_.empty())
        for (const auto& input : drawn.inputs) inputs_.push_back(GuardedTensor::copy_of(input));
    else
        for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].load(drawn.inputs[i]);
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
            // Torch's own answers, upside down: right in kind and wrong in place.
            case Contents::Output::stale:
                outputs[i].tensor().copy_(first_->eager[i].dim() > 0 ? first_->eager[i].flip(0)
                                                                     : first_->eager[i].neg());
                break;
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

Verdict ProofBench::look_around(const Guarded& inputs, const Guarded& outputs) const {
    const auto& graph = oracle_.call().original;
    std::vector<at::Tensor> flags;
    std::vector<Verdict> meanings;
    const auto watch = [&](const GuardedTensor& guarded, const std::string& name) {
        flags.push_back(guarded.touched_outside());
        meanings.push_back({Finding::outside, fmt::format("memory around {} changed", name)});
    };
    for (std::size_t i = 0; i < outputs.size(); ++i)
        watch(outputs[i], graph[*graph.outputs[i].value].name);
    for (std::size_t i = 0; i < workspaces_.size(); ++i)
        watch(workspaces_[i], fmt::format("workspace {}", i));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& name = graph[graph.inputs[i].value].name;
        watch(inputs[i], name);
        flags.push_back(inputs[i].differs_from(shown_->inputs[i]));
        meanings.push_back({Finding::changed_inputs, fmt::format("{} is not what it was", name)});
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

// How many elements of the last results keep what was there, whatever that is.
Result<std::int64_t> ProofBench::unwritten() {
    std::vector<at::Tensor> kept;
    for (const auto& output : outputs_)
        if (output.tensor().is_floating_point()) kept.push_back(output.bits().eq(-1));
    if (auto done = launch(inputs_, outputs_, {Contents::Output::small}); !done)
        return done.error();
    std::int64_t count = 0;
    std::size_t next = 0;
    for (const auto& output : outputs_) {
        if (!output.tensor().is_floating_point()) continue;
        const auto& suspects = kept[next++];
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
    if (auto found = look_around(inputs_, outputs_); !found.passed()) {
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

// A wrong result is told apart by what else changes it.
Result<Verdict> ProofBench::diagnose(const Case& drawn, Verdict found) {
    const auto wrong = copy_bits(outputs_);
    const auto left = unwritten();
    if (!left) return left.error();
    if (*left > 0)
        return Verdict{Finding::unwritten, fmt::format("{} elements hold what they held before, {}",
                                                       *left, case_name(drawn))};
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
    Guarded elsewhere;
    for (const auto& input : drawn.inputs) elsewhere.push_back(GuardedTensor::copy_of(input));
    auto outputs = make_outputs();
    if (auto done = launch(elsewhere, outputs, {}); !done) return done.error();
    Check check;
    if (judge(drawn, outputs, check).passed()) {
        found.finding = Finding::remembers;
        found.why += "; the same inputs at other addresses give the right result";
    }
    return found;
}

Result<Verdict> ProofBench::check_independence() {
    show(*first_);
    using Output = Contents::Output;
    const struct {
        Contents contents;
        Finding finding;
        const char* what;
    } trials[] = {
        {{Output::zeros, 0xFF}, Finding::depends_on_output, "outputs of zeros"},
        {{Output::stale, 0xFF}, Finding::depends_on_output, "outputs of another result"},
        {{Output::poison, 0x00}, Finding::depends_on_workspace, "a workspace of zeros"},
        // Large and finite in every floating type.
        {{Output::poison, 0x7B}, Finding::depends_on_workspace, "a workspace of large numbers"},
    };
    for (const auto& trial : trials) {
        // Both kinds of trial would blame what a race does.
        for (int attempt = 0; attempt < 2; ++attempt) {
            if (auto done = launch(inputs_, outputs_, trial.contents); !done) return done.error();
            if (same(outputs_, reference_)) break;
            if (attempt == 1)
                return Verdict{trial.finding, fmt::format("another result from {}", trial.what)};
            if (auto done = launch(inputs_, outputs_, {}); !done) return done.error();
            if (!same(outputs_, reference_))
                return Verdict{Finding::not_deterministic, "two launches give different results"};
        }
        if (auto found = look_around(inputs_, outputs_); !found.passed()) return found;
    }
    return Verdict{};
}

Result<Verdict> ProofBench::launch_many(bool two_streams) {
    synchronize_device(device_);
    workspaces_.clear();
    std::vector<c10::Stream> streams;
    if (two_streams && device_.is_cuda()) {
        const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
        for (int i = 0; i < 2; ++i)
            streams.push_back(cuda.getStreamFromGlobalPool(device_, /*isHighPriority=*/false));
    }
    Guarded second;
    if (two_streams && second_)
        for (const auto& input : second_->inputs) second.push_back(GuardedTensor::copy_of(input));
    const auto of_second = [&](std::size_t i) { return !second.empty() && i % 2 == 1; };
    for (auto& outputs : more_outputs_) prepare(outputs, Contents::Output::poison);
    synchronize_device(device_);
    for (std::size_t i = 0; i < more_outputs_.size(); ++i) {
        const auto inputs = tensors(of_second(i) ? second : inputs_);
        const auto outputs = tensors(more_outputs_[i]);
        const auto on = [&](const c10::Stream& stream) {
            const c10::StreamGuard guard(stream);
            return launch_(inputs, outputs, {});
        };
        const auto done = streams.empty() ? launch_(inputs, outputs, {}) : on(streams[i % 2]);
        if (!done) return done.error();
    }
    synchronize_device(device_);
    for (std::size_t i = 0; i < more_outputs_.size(); ++i) {
        if (!same(more_outputs_[i], of_second(i) ? second_reference_ : reference_))
            return Verdict{
                Finding::not_deterministic,
                fmt::format("launch {} of {} {} gives another result", i + 1, more_outputs_.size(),
                            two_streams ? "on two streams" : "in a row")};
        if (auto found = look_around(inputs_, more_outputs_[i]); !found.passed()) return found;
    }
    return Verdict{};
}

Result<Verdict> ProofBench::check_repeats() {
    constexpr int kOutputs = 4;
    show(*first_);
    while (more_outputs_.size() < kOutputs) more_outputs_.push_back(make_outputs());
    for (const bool two_streams : {false, true, false})
        if (auto found = launch_many(two_streams); !found || !found->passed()) return found;
    more_outputs_.clear();
    return Verdict{};
}

Result<Verdict> ProofBench::check_elsewhere() {
    shown_ = first_;
    Guarded inputs;
    for (const auto& input : first_->inputs) inputs.push_back(GuardedTensor::copy_of(input));
    auto outputs = make_outputs();
    if (auto done = launch(inputs, outputs, {}); !done) return done.error();
    if (auto found = look_around(inputs, outputs); !found.passed()) return found;
    if (!same(outputs, reference_))
        return Verdict{Finding::remembers,
                       "inputs seen before give another result at other addresses"};
    return Verdict{};
}

Result<> ProofBench::launch_timed() {
    if (shown_ != first_) show(*first_);
    return launch_(tensors(inputs_), tensors(outputs_), {});
}

void ProofBench::disturb() {
    constexpr std::int64_t kAlongADimension = 8;
    for (auto& output : outputs_) {
        auto block = output.bits();
        for (std::int64_t d = 0; d < block.dim(); ++d) {
            const auto count = std::min(kAlongADimension, block.size(d));
            // Another place each time, the corners included.
            block = block.narrow(d, (block.size(d) - count) * (disturbed_ % 7) / 6, count);
        }
        block.fill_(output.tensor().is_floating_point() ? -1 : 2);
    }
    ++disturbed_;
}

Verdict ProofBench::check_timed() {
    synchronize_device(device_);
    workspaces_.clear();
    if (!same(outputs_, reference_))
        return {Finding::idle_when_timed, "the last timed launch left another result"};
    return look_around(inputs_, outputs_);
}

}  // namespace fact::exec

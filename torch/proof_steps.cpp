// The steps of a proof (proof.h) that compare with the reference, of which no bit may change.
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>

#include "torch/proof.h"
#include "torch/stream.h"

namespace fact::exec {

using verify::Finding;
using verify::Verdict;

Result<Verdict> ProofBench::check_independence() {
    show(*first_);
    using Output = Contents::Output;
    const struct {
        Contents contents;
        Finding finding;
        const char* what;
    } trials[] = {
        {{Output::zeros, 0xFF}, Finding::depends_on_output, "outputs that held zeros"},
        {{Output::stale, 0xFF}, Finding::depends_on_output, "outputs that held another result"},
        {{Output::poison, 0x00}, Finding::depends_on_workspace, "a workspace that held zeros"},
        // Large and finite in every floating type.
        {{Output::poison, 0x7B},
         Finding::depends_on_workspace,
         "a workspace that held large numbers"},
    };
    for (const auto& trial : trials) {
        // The second attempt tells a race from a dependence on previous contents.
        for (int attempt = 0; attempt < 2; ++attempt) {
            if (auto done = launch(inputs_, outputs_, trial.contents); !done) return done.error();
            if (same(outputs_, reference_)) break;
            if (attempt == 1)
                return Verdict{trial.finding,
                               fmt::format("the result differs with {}", trial.what)};
            if (auto done = launch(inputs_, outputs_, {}); !done) return done.error();
            if (!same(outputs_, reference_))
                return Verdict{Finding::not_deterministic, "two launches give different results"};
        }
        if (auto found = check_surroundings(inputs_, outputs_); !found.passed()) return found;
    }
    return Verdict{};
}

Result<Verdict> ProofBench::launch_many(bool two_streams) {
    synchronize_all(device_);
    workspaces_.clear();
    std::vector<c10::Stream> streams;
    if (two_streams && device_.is_cuda()) {
        const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
        for (int i = 0; i < 2; ++i)
            streams.push_back(cuda.getStreamFromGlobalPool(device_, /*isHighPriority=*/false));
    }
    Guarded second;
    if (two_streams && second_) second = guarded(oracle_.inputs(*second_));
    const auto of_second = [&](std::size_t i) { return !second.empty() && i % 2 == 1; };
    for (auto& outputs : more_outputs_) prepare(outputs, Contents::Output::poison);
    synchronize_all(device_);
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
    synchronize_all(device_);
    for (std::size_t i = 0; i < more_outputs_.size(); ++i) {
        if (!same(more_outputs_[i], of_second(i) ? second_reference_ : reference_))
            return Verdict{
                Finding::not_deterministic,
                fmt::format("launch {} of {} {} gives a different result", i + 1,
                            more_outputs_.size(), two_streams ? "on two streams" : "in a row")};
        if (auto found = check_surroundings(inputs_, more_outputs_[i]); !found.passed())
            return found;
    }
    return Verdict{};
}

Result<Verdict> ProofBench::check_repeats() {
    const std::size_t launches = oracle_.large() ? 2 : 4;
    show(*first_);
    while (more_outputs_.size() < launches) more_outputs_.push_back(make_outputs());
    for (const bool two_streams : {false, true, false})
        if (auto found = launch_many(two_streams); !found || !found->passed()) return found;
    more_outputs_.clear();
    return Verdict{};
}

Result<Verdict> ProofBench::check_elsewhere() {
    shown_ = first_;
    const auto inputs = guarded(oracle_.inputs(*first_));
    auto outputs = make_outputs();
    if (auto done = launch(inputs, outputs, {}); !done) return done.error();
    if (auto found = check_surroundings(inputs, outputs); !found.passed()) return found;
    if (!same(outputs, reference_))
        return Verdict{Finding::remembers_inputs,
                       "the same inputs give a different result at other addresses"};
    return Verdict{};
}

Tensors ProofBench::timed_inputs() {
    if (shown_ != first_) show(*first_);
    return tensors(inputs_);
}

Result<> ProofBench::launch_timed() {
    return launch_(timed_inputs(), tensors(outputs_), {});
}

void ProofBench::disturb() {
    constexpr std::int64_t kPerDimension = 8;
    for (auto& output : outputs_) {
        auto block = output.bits();
        for (std::int64_t d = 0; d < block.dim(); ++d) {
            const auto count = std::min(kPerDimension, block.size(d));
            // Another position each time, including the corners.
            block = block.narrow(d, (block.size(d) - count) * (disturbed_ % 7) / 6, count);
        }
        block.fill_(output.tensor().is_floating_point() ? -1 : 2);
    }
    ++disturbed_;
}

Verdict ProofBench::check_timed() {
    synchronize_all(device_);
    workspaces_.clear();
    if (!same(outputs_, reference_))
        return {Finding::idle_when_timed, "the last timed launch left a different result"};
    return check_surroundings(inputs_, outputs_);
}

}  // namespace fact::exec

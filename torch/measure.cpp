// How a session (session.h) proves and times a candidate.
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "torch/kernel_files.h"
#include "torch/session.h"
#include "torch/simulated_faults.h"
#include "torch/stream.h"
#include "torch/text_check.h"
#include "torch/timing.h"
#include "verify/resize.h"

namespace fact::exec {

namespace {

using verify::CandidateReply;
using verify::CandidateRequest;
using verify::Finding;
using verify::Outcome;
using verify::Proof;
using verify::Verdict;

// Seeds of cases that are shown for the first time after the timing.
constexpr int kFreshSeed = 1000, kOneRowSeed = 1001;
// The first of two seeds of cases with other sizes.
constexpr int kOtherSizesSeed = 2000;
// The most multiplications of a call with other sizes: its f64 oracle takes milliseconds on a GPU.
constexpr double kMaxOtherProducts = 2e10;

CandidateReply reply_of(Outcome outcome, std::string why) {
    CandidateReply reply;
    reply.outcome = outcome;
    reply.why = std::move(why);
    return reply;
}

LaunchKernel launch_of(std::shared_ptr<FusedKernel> kernel) {
    return [kernel = std::move(kernel)](const Tensors& inputs, const Tensors& outputs,
                                        const WorkspaceSource& workspace) {
        return kernel->run_kernel(inputs, outputs, workspace);
    };
}

// Returns whether the step passed; if not, the reply says why.
bool accept(const Result<Verdict>& step, CandidateReply& reply) {
    if (!step) {
        reply.outcome = Outcome::unsupported;
        reply.why = step.error().text();
        return false;
    }
    reply.outcome = step->passed() ? Outcome::passed : Outcome::incorrect;
    reply.finding = step->finding;
    reply.why = text(*step);
    return step->passed();
}

}  // namespace

Result<Verdict> Session::check_cases(ProofBench& bench, const std::vector<Case>& cases) const {
    for (const auto& drawn : cases) {
        if (auto found = bench.check(drawn); !found || !found->passed()) return found;
        turns_->rest();
    }
    return Verdict{};
}

Result<Verdict> Session::prove_before_timing(ProofBench& bench, Proof proof) {
    if (proof == Proof::quick) {
        // Sums of one sign show lost precision best; only the winner is shown the other cases.
        for (const auto& drawn : cases_)
            if (drawn.distribution == "normal" || drawn.distribution == "positive")
                if (auto found = bench.check(drawn); !found || !found->passed()) return found;
        return Verdict{};
    }
    if (auto found = check_cases(bench, cases_); !found || !found->passed()) return found;
    if (auto found = bench.check_independence(); !found || !found->passed()) return found;
    turns_->rest();
    if (auto found = bench.check_repeats(); !found || !found->passed()) return found;
    turns_->rest();
    return bench.check_elsewhere();
}

Result<Verdict> Session::prove_after_timing(ProofBench& bench, Proof proof) {
    if (!fresh_case_) fresh_case_ = oracle_->draw("normal", kFreshSeed);
    if (auto found = bench.check(*fresh_case_); !found || !found->passed()) return found;
    if (proof == Proof::quick) return Verdict{};
    if (!one_row_changed_) one_row_changed_ = oracle_->with_one_row_changed(cases_[0], kOneRowSeed);
    // Shown again, so that the next case differs from the last one seen in one row alone.
    if (auto found = bench.check(cases_[0]); !found || !found->passed()) return found;
    return bench.check(*one_row_changed_);
}

const std::vector<Session::OtherSizes>& Session::other_sizes() {
    if (other_sizes_) return *other_sizes_;
    other_sizes_.emplace();
    const double max_products = device_.is_cpu() ? kInterpretedProducts : kMaxOtherProducts;
    for (auto& resized : verify::other_sizes(call_, text_, max_products)) {
        auto oracle =
            Oracle::make(resized.call, device_, buffers_, reference_precision_.tf32.anywhere());
        if (!oracle) continue;
        try {
            std::vector<Case> cases{oracle->draw("normal", kOtherSizesSeed),
                                    oracle->draw("positive", kOtherSizesSeed + 1)};
            oracle->numbers(cases.front());  // here torch may object
            other_sizes_->push_back({std::move(resized.call), std::move(resized.note),
                                     std::move(*oracle), std::move(cases)});
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (const std::exception&) {  // torch rejects these sizes
        }
    }
    return *other_sizes_;
}

// Whether the text itself computes what torch does at those sizes; if not, a kernel that follows
// it is not to blame.
bool Session::text_holds(const OtherSizes& other) const {
    if (text_.only_interface) return true;  // it has no body: only the kernel can be to blame
    const auto checked = check_text_shrunk(other.call, text_, buffers_, false);
    if (!checked) return false;
    for (const auto& check : checked->checks)
        if (!check.passed) return false;
    return true;
}

Result<Verdict> Session::prove_other_sizes(const KernelFor& kernel_for, std::string& note) {
    note = "not proven at other sizes: no extent of the call can change";
    for (const auto& other : other_sizes()) {
        const auto kernel = kernel_for(other.call);
        if (!kernel) {
            note = "not proven at other sizes: " + kernel.error().message;
            continue;
        }
        ProofBench bench(other.oracle, *kernel, device_);
        bool refused = false;
        for (const auto& drawn : other.cases) {
            auto found = bench.check(drawn);
            refused = !found;
            if (refused) {
                note = "not proven at other sizes: " + found.error().message;
                break;
            }
            if (found->passed()) continue;
            if (!text_holds(other)) {
                note = fmt::format("not proven at other sizes: the text itself is wrong there ({})",
                                   other.note);
                return Verdict{};
            }
            // A more specific finding stays, such as memory written outside the buffers.
            const bool wrong =
                found->finding == Finding::wrong_result || found->finding == Finding::unwritten;
            return Verdict{wrong ? Finding::wrong_at_other_sizes : found->finding,
                           fmt::format("{}: {}", other.note, text(*found))};
        }
        if (refused) continue;
        note = "other sizes: " + other.note;
        return Verdict{};
    }
    return Verdict{};
}

void Session::time(ProofBench& bench, const CandidateRequest& request, CandidateReply& reply) {
    const auto inputs = bench.timed_inputs();
    const auto launch = [&] {
        const auto done = bench.launch_timed();
        TORCH_CHECK(done.ok(), done.ok() ? "" : done.error().text());
    };
    if (device_.is_cpu()) {  // nothing is timed, but check_timed() needs a last launch
        bench.disturb();
        return launch();
    }
    // The baseline is timed under the user's settings; only its accuracy has to match what the
    // kernel claims.
    const PrecisionScope user_settings(request_.precision, reference_precision_);
    const std::vector<Work> works{launch, oracle_->baseline(inputs)};
    const Work between = [&] { bench.disturb(); };
    for (const auto& work : works) work();  // the first runs load code: others need not wait
    turns_->alone();
    const auto single = time_single(works, device_, request.single_ms, between);
    reply.single = single[0];
    reply.baseline_single = single[1];
    if (request.proof == Proof::full) reply.launches = time_launches(launch, device_);
    if (request.sustained_ms > 0) {
        const auto sustained = time_sustained(works, device_, request.sustained_ms, between);
        reply.sustained = sustained[0];
        reply.baseline_sustained = sustained[1];
    }
    turns_->together();
}

CandidateReply Session::measure_launched(const CandidateRequest& request,
                                         const KernelFor& kernel_for) {
    CandidateReply reply;
    const auto kernel = kernel_for(call_);
    if (!kernel) return reply_of(Outcome::unsupported, kernel.error().text());
    ProofBench bench(*oracle_, *kernel, device_);
    // The interpreter runs in place of the kernel: only its results have to be checked.
    if (device_.is_cpu() && request.fault.empty()) {
        accept(check_cases(bench, cases_), reply);
        reply.checks = bench.checks();
        return reply;
    }
    bool passed = accept(prove_before_timing(bench, request.proof), reply);
    if (passed && request.proof == Proof::full)
        passed = accept(prove_other_sizes(kernel_for, reply.note), reply);
    if (passed) {
        time(bench, request, reply);
        passed = accept(bench.check_timed(), reply) &&
                 accept(prove_after_timing(bench, request.proof), reply);
    }
    reply.checks = bench.checks();
    return reply;
}

CandidateReply Session::measure(const CandidateRequest& request) {
    turns_->begin();
    if (device_.is_cpu()) {
        if (request.fault == "crash") std::abort();
        while (request.fault == "hang") sleep(1000);
        auto simulated = simulated_fault(request.fault);
        if (!simulated) return reply_of(Outcome::unsupported, simulated.error().text());
        const auto kernel_for = [&](const graph::FusedCall& call) -> Result<LaunchKernel> {
            auto kernel = FusedKernel::make(call, text_, {});
            if (!kernel) return kernel.error();
            return (*simulated)(launch_of(std::move(*kernel)));
        };
        return measure_launched(request, kernel_for);
    }
    auto loaded = load_compiled(request.cubin, request.record);
    if (!loaded) return reply_of(Outcome::unsupported, loaded.error().text());
    const Compiled compiled{DeviceKernels::only(std::move(*loaded), device_.index()), {}};
    const auto kernel_for = [&](const graph::FusedCall& call) -> Result<LaunchKernel> {
        auto kernel = FusedKernel::make(call, text_, compiled);
        if (!kernel) return kernel.error();
        return launch_of(std::move(*kernel));
    };
    auto reply = measure_launched(request, kernel_for);
    synchronize_all(device_);
    return reply;
}

}  // namespace fact::exec

#include "torch/session.h"

#include <ATen/Context.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "torch/kernel_files.h"
#include "torch/stream.h"
#include "torch/timing.h"
#include "verify/shrink.h"

namespace fact::exec {

namespace {

using verify::CandidateReply;
using verify::Check;
using verify::Outcome;

// The interpreter takes about a second for so many multiplications, and four cases are checked.
constexpr double kInterpretedProducts = 2e7;
// What cannot be shrunk is still tried up to here.
constexpr double kMostProducts = 1e9;

std::vector<Case> draw_cases(const Oracle& oracle) {
    std::vector<Case> cases;
    int seed = 1;
    for (const auto distribution : kDistributions)
        cases.push_back(oracle.draw(distribution, seed++));
    return cases;
}

// A call over extents the interpreter can handle, with its oracle and cases on the CPU.
struct Small {
    graph::FusedCall call;
    Oracle oracle;
    std::vector<Case> cases;
    std::string note;
};

Result<Small> prepare(const graph::FusedCall& call,
                      const std::map<std::string, graph::Weight>& buffers, std::string note) {
    auto oracle = Oracle::make(call, c10::kCPU, buffers);
    if (!oracle) return oracle.error();
    try {
        auto cases = draw_cases(*oracle);
        return Small{call, std::move(*oracle), std::move(cases), std::move(note)};
    } catch (const std::exception& error) {
        return Error{error.what(), {}};
    }
}

Result<Check> check_interpreted(const Oracle& oracle, const Case& drawn, FusedKernel& kernel) {
    auto outputs = kernel.allocate_outputs(drawn.inputs);
    if (!outputs) return outputs.error();
    poison(*outputs);
    if (const auto done = kernel.run_kernel(drawn.inputs, *outputs); !done) return done.error();
    return oracle.check(drawn, *outputs);
}

Result<std::vector<Check>> check_text(const Small& small, const ir::Kernel& text) {
    auto kernel = FusedKernel::make(small.call, text, {});
    if (!kernel) return kernel.error();
    std::vector<Check> checks;
    for (const auto& drawn : small.cases) {
        auto check = check_interpreted(small.oracle, drawn, **kernel);
        if (!check) return check.error();
        checks.push_back(std::move(*check));
    }
    return checks;
}

struct Checked {
    Small small;
    std::vector<Check> checks;
};

// Shrunk extents first; when torch or the interpreter objects to them, the traced ones.
Result<Checked> check_small(const graph::FusedCall& call, const ir::Kernel& text,
                            const std::map<std::string, graph::Weight>& buffers) {
    std::string objection;
    if (auto shrunk = verify::shrink(call, text, kInterpretedProducts)) {
        auto small = prepare(shrunk->call, buffers, "extents shrunk: " + shrunk->note);
        if (small) {
            auto checks = check_text(*small, text);
            if (checks) return Checked{std::move(*small), std::move(*checks)};
            objection = checks.error().message;
        } else {
            objection = small.error().message;
        }
    }
    if (const double work = verify::work(call.original); work > kMostProducts)
        return Error{
            fmt::format("{} is too large to interpret ({:.1e} multiplications){}", call.id, work,
                        objection.empty() ? "" : " and cannot be shrunk: " + objection),
            {}};
    auto small = prepare(call, buffers, "");
    if (!small) return small.error();
    auto checks = check_text(*small, text);
    if (!checks) return checks.error();
    return Checked{std::move(*small), std::move(*checks)};
}

CandidateReply reply_of(Outcome outcome, std::string why) {
    CandidateReply reply;
    reply.outcome = outcome;
    reply.why = std::move(why);
    return reply;
}

void conclude(CandidateReply& reply) {
    reply.outcome = Outcome::passed;
    for (const auto& check : reply.checks) {
        if (check.passed) continue;
        reply.outcome = Outcome::incorrect;
        reply.why =
            fmt::format("{} inputs, seed {}: {}", check.distribution, check.seed, check.why);
        return;
    }
}

}  // namespace

Result<Session> Session::open(const verify::OpenRequest& request, verify::OpenReply& reply) {
    Session session;
    session.request_ = request;
    auto call = read_call(request.call);
    if (!call) return call.error();
    auto text = read_kernel_text(request.kernel_text);
    if (!text) return text.error();
    session.call_ = std::move(*call);
    session.text_ = std::move(*text);
    std::map<std::string, graph::Weight> buffers;
    if (!request.weights.empty()) {
        auto archive = graph::read_pt2(request.weights);
        if (!archive) return archive.error();
        buffers = buffers_of(session.call_, *archive);
        session.mapping_ = archive->mapping;
    }
    const bool on_gpu = request.device.starts_with("cuda");
    if (on_gpu && !cuda_available())
        return Error{"torch sees no GPU here", "use --device cpu, or a PyTorch built with CUDA"};
    if (request.check_text || !on_gpu) {
        auto checked = check_small(session.call_, session.text_, buffers);
        if (!checked) return checked.error();
        if (request.check_text) reply.text_checks = std::move(checked->checks);
        reply.note = checked->small.note;
        if (!on_gpu) {
            session.call_ = std::move(checked->small.call);
            session.oracle_ = std::move(checked->small.oracle);
            session.cases_ = std::move(checked->small.cases);
            return session;
        }
    }
    session.device_ = c10::Device(request.device == "cuda" ? "cuda:0" : request.device);
    // The baseline computes in the precision the kernel is allowed.
    at::globalContext().setAllowTF32CuBLAS(request.allow_tf32);
    auto oracle = Oracle::make(session.call_, session.device_, std::move(buffers));
    if (!oracle) return oracle.error();
    session.oracle_ = std::move(*oracle);
    session.cases_ = draw_cases(*session.oracle_);
    return session;
}

CandidateReply Session::measure_on_cpu(const verify::CandidateRequest& request) {
    if (request.fault == "crash") std::abort();
    while (request.fault == "hang") sleep(1000);
    auto kernel = FusedKernel::make(call_, text_, {});
    if (!kernel) return reply_of(Outcome::unsupported, kernel.error().text());
    CandidateReply reply;
    for (const auto& drawn : cases_) {
        auto outputs = (*kernel)->allocate_outputs(drawn.inputs);
        if (!outputs) return reply_of(Outcome::unsupported, outputs.error().text());
        poison(*outputs);
        if (request.fault == "wrong") {
            for (const auto& output : *outputs) output.zero_();
        } else if (const auto done = (*kernel)->run_kernel(drawn.inputs, *outputs); !done) {
            return reply_of(Outcome::unsupported, done.error().text());
        }
        reply.checks.push_back(oracle_->check(drawn, *outputs));
    }
    conclude(reply);
    return reply;
}

CandidateReply Session::measure(const verify::CandidateRequest& request) {
    if (device_.is_cpu()) return measure_on_cpu(request);
    auto loaded = load_compiled(request.cubin, request.record);
    if (!loaded) return reply_of(Outcome::unsupported, loaded.error().text());
    auto kernel = FusedKernel::make(call_, text_, {std::move(*loaded), {}, device_.index()});
    if (!kernel) return reply_of(Outcome::unsupported, kernel.error().text());

    CandidateReply reply;
    const auto verify_case = [&](const Case& drawn) -> Result<> {
        auto outputs = (*kernel)->allocate_outputs(drawn.inputs);
        if (!outputs) return outputs.error();
        poison(*outputs);
        if (auto done = (*kernel)->run_kernel(drawn.inputs, *outputs); !done) return done;
        synchronize(device_);
        reply.checks.push_back(oracle_->check(drawn, *outputs));
        return Ok{};
    };
    for (const auto& drawn : cases_)
        if (const auto done = verify_case(drawn); !done)
            return reply_of(Outcome::unsupported, done.error().text());
    conclude(reply);
    if (reply.outcome != Outcome::passed) return reply;

    const auto& inputs = cases_[0].inputs;
    const std::vector<Work> works{[&] { (*kernel)->run(inputs); },
                                  [&] { oracle_->run_eager(inputs); }};
    const auto single = time_single(works, device_);
    reply.single = single[0];
    reply.baseline_single = single[1];
    if (request.sustained) {
        const auto held = time_sustained(works, device_);
        reply.held = held[0];
        reply.baseline_held = held[1];
    }
    // A kernel that remembers its first answers is found out by inputs it has not seen.
    constexpr int kFreshSeed = 1000;
    if (const auto done = verify_case(oracle_->draw("normal", kFreshSeed)); !done)
        return reply_of(Outcome::unsupported, done.error().text());
    conclude(reply);
    return reply;
}

}  // namespace fact::exec

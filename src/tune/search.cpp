#include "tune/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/files.h"
#include "tune/gpu_gone.h"
#include "verify/light.h"

namespace fact::tune {

namespace {

using verify::CandidateReply;
using verify::Outcome;

// A spread wider than this is noise, and no reason to take a slower kernel.
constexpr double kWidestTie = 0.005;
// A hot GPU was seen to turn the order of kernels that a cool one puts this close together.
constexpr double kNear = 0.06;
constexpr int kMostContenders = 4;

// Relative to the baseline timed in turns with it: a GPU that has warmed up since the last
// candidate slows both. One that was also timed sustained is judged by both times alike.
double cost(const CandidateResult& r) {
    if (r.baseline_single.runs == 0) return r.single.median_us;
    const double single = r.single.median_us / r.baseline_single.median_us;
    if (r.held.runs == 0 || r.baseline_held.runs == 0) return single;
    return std::sqrt(single * r.held.median_us / r.baseline_held.median_us);
}

class Searcher {
  public:
    Searcher(const SearchRequest& request, const RealizeOptions& options)
        : request_(request), options_(options) {}

    Result<SearchResult> run();

  private:
    void settle(std::size_t i, CandidateReply reply);
    Result<> build();
    Result<CandidateReply> measure(WorkerSession& session, std::size_t i, bool sustained);
    Result<> measure_all(WorkerSession& session);
    Result<> choose_winner(WorkerSession& session);
    bool timed() const { return options_.device != "cpu"; }
    void say(const std::string& text) const {
        if (options_.status) options_.status(text);
    }

    const SearchRequest& request_;
    const RealizeOptions& options_;
    SearchResult found_;
    std::vector<std::filesystem::path> cubins_;  // "" where there is none
};

void Searcher::settle(std::size_t i, CandidateReply reply) {
    verify::reject_faster_than_light(reply, request_.hard_us);
    CandidateResult& result = found_.results[i];
    result.outcome = reply.outcome;
    result.why = reply.why;
    result.checks = reply.checks;
    result.single = reply.single;
    result.baseline_single = reply.baseline_single;
    result.held = reply.held;
    result.baseline_held = reply.baseline_held;
    result.finding = reply.finding;
    result.note = reply.note;
    if (request_.finished) request_.finished(result);
}

Result<> Searcher::build() {
    std::vector<jit::Unit> units;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < request_.candidates.size(); ++i) {
        const Candidate& candidate = request_.candidates[i];
        if (!candidate.unsupported.empty()) {
            CandidateReply reply;
            reply.outcome = Outcome::unsupported;
            reply.why = candidate.unsupported;
            settle(i, reply);
            continue;
        }
        units.push_back({candidate.record.kernel + "_" + candidate.name, candidate.source,
                         candidate.record.arch});
        which.push_back(i);
    }
    std::size_t done = 0;
    const auto report = [&](std::size_t, const Result<jit::Artifact>&) {
        say(fmt::format("compiled {} of {}", ++done, units.size()));
    };
    auto artifacts = jit::compile_all(units, options_.toolchain, options_.store, options_.jobs,
                                      options_.deadlines.compile, report);
    if (interrupted()) return Error{"interrupted", ""};
    for (std::size_t u = 0; u < units.size(); ++u) {
        const std::size_t i = which[u];
        if (!artifacts[u]) {
            CandidateReply reply;
            reply.outcome = Outcome::failed_to_build;
            reply.why = artifacts[u].error().text();
            settle(i, reply);
            continue;
        }
        CandidateResult& result = found_.results[i];
        result.compile_key = artifacts[u]->key;
        result.compile_seconds = artifacts[u]->seconds;
        result.cached = artifacts[u]->cached;
        result.registers = artifacts[u]->registers;
        result.spill_bytes = artifacts[u]->spill_bytes;
        cubins_[i] = artifacts[u]->cubin;
    }
    return Ok{};
}

Result<CandidateReply> Searcher::measure(WorkerSession& session, std::size_t i, bool sustained) {
    const Candidate& candidate = request_.candidates[i];
    verify::CandidateRequest request;
    request.cubin = cubins_[i].string();
    request.record = (request_.scratch / (candidate.name + ".json")).string();
    request.sustained = sustained;
    if (!timed()) request.fault = candidate.fault;
    auto written = write_file_atomic(request.record, to_json(candidate.record));
    if (!written) return written.error();
    return session.measure(request,
                           sustained ? options_.deadlines.held : options_.deadlines.measure);
}

Result<> Searcher::measure_all(WorkerSession& session) {
    for (std::size_t i = 0; i < cubins_.size(); ++i) {
        if (cubins_[i].empty()) continue;
        auto reply = measure(session, i, false);
        if (!reply) return reply.error();
        settle(i, *reply);
        const CandidateResult& result = found_.results[i];
        std::string what = result.outcome == Outcome::passed && timed()
                               ? fmt::format("{:.1f} us, torch {:.1f} us", result.single.median_us,
                                             result.baseline_single.median_us)
                               : std::string(verify::name(result.outcome));
        say(fmt::format("{}: {} {}", result.name, what, result.schedule));
    }
    return Ok{};
}

// The best few once more, long enough to heat the GPU: at its power limit another kernel may be the
// fastest. One that fails now gives way to the next.
Result<> Searcher::choose_winner(WorkerSession& session) {
    for (;;) {
        found_.winner = best_of(found_.results);
        if (found_.winner < 0) return Ok{};
        const CandidateResult& best = found_.results[found_.winner];
        if (!timed() || best.held.runs > 0) break;
        for (const int i : contenders(found_.results, kMostContenders)) {
            say(fmt::format("{}: sustained", found_.results[i].name));
            auto reply = measure(session, i, true);
            if (!reply) return reply.error();
            settle(i, *reply);
        }
    }
    const CandidateResult& best = found_.results[found_.winner];
    found_.cubin = cubins_[found_.winner];
    found_.best = {
        best.outcome, best.why,           best.checks,  best.single, best.baseline_single,
        best.held,    best.baseline_held, best.finding, best.note};
    return Ok{};
}

Result<SearchResult> Searcher::run() {
    const std::size_t count = request_.candidates.size();
    found_.results.resize(count);
    cubins_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        found_.results[i].name = request_.candidates[i].name;
        found_.results[i].schedule = request_.candidates[i].schedule;
    }
    auto worker = find_worker(options_.worker);
    if (!worker) return worker.error();
    say("checking the kernel text");
    auto session = WorkerSession::open(*worker, request_.open, options_.deadlines.open);
    if (interrupted()) return Error{"interrupted", ""};
    const auto untried = [&](Outcome outcome, const std::string& why) {
        for (auto& result : found_.results) result.outcome = outcome, result.why = why;
    };
    if (!session && says_gpu_is_gone(session.error().message)) return session.error();
    if (!session) {
        found_.opened.error = session.error().text();
        untried(Outcome::unsupported, "not tried: the pattern cannot be prepared");
        return found_;
    }
    found_.opened = session->opened();
    const auto& checks = found_.opened.text_checks;
    // A text that computes something else is not worth compiling.
    if (std::any_of(checks.begin(), checks.end(), [](const auto& c) { return !c.passed; })) {
        untried(Outcome::incorrect, "not tried: the kernel text computes something else");
        return found_;
    }

    if (auto built = build(); !built) return built.error();
    if (auto measured = measure_all(*session); !measured) return measured.error();
    if (auto chosen = choose_winner(*session); !chosen) return chosen.error();
    return found_;
}

}  // namespace

int best_of(const std::vector<CandidateResult>& results) {
    const bool held = std::any_of(results.begin(), results.end(), [](const auto& r) {
        return r.outcome == Outcome::passed && r.held.runs > 0;
    });
    const auto counts = [&](const CandidateResult& r) {
        return r.outcome == Outcome::passed && (!held || r.held.runs > 0);
    };
    int fastest = -1;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (counts(results[i]) && (fastest < 0 || cost(results[i]) < cost(results[fastest])))
            fastest = static_cast<int>(i);
    if (fastest < 0) return -1;
    const verify::Timing& best = results[fastest].single;
    const double spread = best.median_us > 0 ? best.high_us / best.median_us - 1 : 0;
    const double tie = cost(results[fastest]) * (1 + std::min(spread, kWidestTie));
    for (int i = 0; i < fastest; ++i)
        if (counts(results[i]) && cost(results[i]) <= tie) return i;
    return fastest;
}

std::vector<int> contenders(const std::vector<CandidateResult>& results, int most) {
    std::vector<int> passed;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (results[i].outcome == Outcome::passed && results[i].held.runs == 0)
            passed.push_back(static_cast<int>(i));
    std::stable_sort(passed.begin(), passed.end(),
                     [&](int a, int b) { return cost(results[a]) < cost(results[b]); });
    std::size_t count = 0;
    while (count < passed.size() && count < static_cast<std::size_t>(most) &&
           cost(results[passed[count]]) <= cost(results[passed[0]]) * (1 + kNear))
        ++count;
    passed.resize(count);
    return passed;
}

Result<SearchResult> search(const SearchRequest& request, const RealizeOptions& options) {
    return Searcher(request, options).run();
}

}  // namespace fact::tune

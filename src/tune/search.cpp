#include "tune/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/files.h"

namespace fact::tune {

namespace {

using verify::CandidateReply;
using verify::Outcome;

// A spread wider than this is noise, and no reason to take a slower kernel.
constexpr double kWidestTie = 0.005;

class Searcher {
  public:
    Searcher(const SearchRequest& request, const RealizeOptions& options)
        : request_(request), options_(options) {}

    Result<SearchResult> run();

  private:
    void settle(std::size_t i, const CandidateReply& reply);
    Result<> build();
    Result<CandidateReply> measure(WorkerSession& session, std::size_t i, bool sustained);
    Result<> measure_all(WorkerSession& session);
    Result<> confirm_winner(WorkerSession& session);
    bool timed() const { return options_.device != "cpu"; }
    void say(const std::string& text) const {
        if (options_.status) options_.status(text);
    }

    const SearchRequest& request_;
    const RealizeOptions& options_;
    SearchResult found_;
    std::vector<std::filesystem::path> cubins_;  // "" where there is none
};

void Searcher::settle(std::size_t i, const CandidateReply& reply) {
    CandidateResult& result = found_.results[i];
    result.outcome = reply.outcome;
    result.why = reply.why;
    result.checks = reply.checks;
    result.single = reply.single;
    result.baseline_single = reply.baseline_single;
    if (reply.outcome == Outcome::passed && request_.hard_us > 0 && reply.single.runs > 0 &&
        reply.single.median_us < request_.hard_us) {
        result.outcome = Outcome::incorrect;
        result.why = fmt::format(
            "took {:.2f} us where the GPU needs at least {:.2f}: it cannot have done the work",
            reply.single.median_us, request_.hard_us);
    }
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

// The winner once more, long enough to heat the GPU; one that fails now gives way to the next.
Result<> Searcher::confirm_winner(WorkerSession& session) {
    for (;;) {
        found_.winner = best_of(found_.results);
        if (found_.winner < 0) return Ok{};
        CandidateResult& result = found_.results[found_.winner];
        found_.cubin = cubins_[found_.winner];
        found_.best.outcome = result.outcome;
        found_.best.checks = result.checks;
        found_.best.single = result.single;
        found_.best.baseline_single = result.baseline_single;
        if (!timed()) return Ok{};
        say(fmt::format("{}: sustained", result.name));
        auto reply = measure(session, found_.winner, true);
        if (!reply) return reply.error();
        if (reply->outcome == Outcome::passed) {
            found_.best = *reply;
            return Ok{};
        }
        settle(found_.winner, *reply);
    }
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
    if (!session) {
        found_.opened.error = session.error().text();
        return found_;
    }
    found_.opened = session->opened();
    const auto& checks = found_.opened.text_checks;
    // A text that computes something else is not worth compiling.
    if (std::any_of(checks.begin(), checks.end(), [](const auto& c) { return !c.passed; }))
        return found_;

    if (auto built = build(); !built) return built.error();
    if (auto measured = measure_all(*session); !measured) return measured.error();
    if (auto confirmed = confirm_winner(*session); !confirmed) return confirmed.error();
    return found_;
}

}  // namespace

int best_of(const std::vector<CandidateResult>& results) {
    // Relative to the baseline timed in turns with it: a GPU that has warmed up since the last
    // candidate slows both.
    const auto cost = [](const CandidateResult& r) {
        return r.baseline_single.runs > 0 ? r.single.median_us / r.baseline_single.median_us
                                          : r.single.median_us;
    };
    int fastest = -1;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].outcome != Outcome::passed) continue;
        if (fastest < 0 || cost(results[i]) < cost(results[fastest])) fastest = static_cast<int>(i);
    }
    if (fastest < 0) return -1;
    const verify::Timing& best = results[fastest].single;
    const double spread = best.median_us > 0 ? best.high_us / best.median_us - 1 : 0;
    const double tie = cost(results[fastest]) * (1 + std::min(spread, kWidestTie));
    for (int i = 0; i < fastest; ++i)
        if (results[i].outcome == Outcome::passed && cost(results[i]) <= tie) return i;
    return fastest;
}

Result<SearchResult> search(const SearchRequest& request, const RealizeOptions& options) {
    return Searcher(request, options).run();
}

}  // namespace fact::tune

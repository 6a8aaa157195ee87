#include "tune/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>

#include "sol/stopping.h"
#include "support/files.h"
#include "tune/compile_ahead.h"
#include "tune/effort.h"
#include "tune/gpu_gone.h"
#include "verify/light.h"

namespace fact::tune {

namespace {

using verify::CandidateReply;
using verify::Outcome;
using verify::Proof;
using Clock = std::chrono::steady_clock;

// How long a candidate is measured, and how thoroughly it is proved.
struct Rung {
    double single_ms, sustained_ms;  // 0: not measured
    Proof proof;
};
constexpr Rung kFirst{80, 0, Proof::quick};         // for all
constexpr Rung kContender{120, 300, Proof::quick};  // for the best few
constexpr Rung kWinner{200, 600, Proof::full};      // gives the reported times
// A quick search has no contenders, so that sustained times would decide nothing.
constexpr Rung kQuickFirst{40, 0, Proof::quick};
constexpr Rung kQuickWinner{80, 0, Proof::full};

// Medians of the same kernel differ by as much from one measurement to the next.
constexpr double kSame = 1.01;

// How many of the candidates that passed are measured on a hot GPU.
int max_contenders(std::size_t candidates) {
    return candidates <= 4 ? 2 : candidates <= 32 ? 3 : 6;
}

class Searcher {
  public:
    Searcher(const SearchRequest& request, const RealizeOptions& options)
        : request_(request), options_(options) {}

    Result<SearchResult> run();

  private:
    // Makes the reply the result of candidate `i`.
    void settle(std::size_t i, CandidateReply reply);
    // Gives candidate `i` a result without measuring it.
    void refuse(std::size_t i, Outcome outcome, const std::string& why);
    std::vector<std::size_t> next_batch(std::size_t from) const;
    std::vector<Result<jit::Artifact>> build(const std::vector<std::size_t>& which);
    void keep_artifacts(const std::vector<std::size_t>& which,
                        std::vector<Result<jit::Artifact>> artifacts);
    Result<> measure(WorkerSession& session, std::size_t i, const Rung& rung);
    sol::SearchState standing_before(std::size_t i) const;
    std::string untried_because(std::size_t i);
    Result<> measure_all(WorkerSession& session);
    Result<> choose_winner(WorkerSession& session);
    // A quick search proves what was fastest at first, without a second measurement of the best.
    bool quick() const { return is_quick({.candidates = options_.max_candidates}); }
    bool timed() const { return options_.device != "cpu"; }
    bool out_of_time() const {
        return options_.budget && Seconds(Clock::now() - started_) > *options_.budget;
    }
    // Locked, because the compilers report from a thread of their own.
    void say(const std::string& text) {
        const std::lock_guard lock(saying_);
        if (options_.status) options_.status(text);
    }

    const SearchRequest& request_;
    const RealizeOptions& options_;
    const Clock::time_point started_ = Clock::now();
    std::mutex saying_;
    SearchResult found_;
    std::vector<bool> built_;  // per candidate: whether it was sent to the compiler
    std::vector<std::optional<jit::Artifact>> compiled_;
};

void Searcher::settle(std::size_t i, CandidateReply reply) {
    verify::reject_faster_than_light(reply, request_.hard_us);
    CandidateResult& result = found_.results[i];
    result.outcome = reply.outcome;
    result.why = reply.why;
    result.checks = reply.checks;
    result.single = reply.single;
    result.baseline_single = reply.baseline_single;
    result.sustained = reply.sustained;
    result.baseline_sustained = reply.baseline_sustained;
    result.launches = reply.launches;
    result.finding = reply.finding;
    result.note = reply.note;
    if (request_.finished) request_.finished(result);
}

void Searcher::refuse(std::size_t i, Outcome outcome, const std::string& why) {
    CandidateReply reply;
    reply.outcome = outcome;
    reply.why = why;
    settle(i, reply);
}

// The candidates to compile next: as many as a search measures before it may stop, and all of the
// user's files.
std::vector<std::size_t> Searcher::next_batch(std::size_t from) const {
    std::vector<std::size_t> which;
    int scheduled = 0;
    for (std::size_t i = from; i < request_.candidates.size(); ++i) {
        const Candidate& candidate = request_.candidates[i];
        if (!candidate.unsupported.empty()) continue;
        if (!candidate.from_file && options_.stop_early && timed() &&
            ++scheduled > sol::Rules().min_measured)
            break;
        which.push_back(i);
    }
    return which;
}

std::vector<Result<jit::Artifact>> Searcher::build(const std::vector<std::size_t>& which) {
    std::vector<jit::Unit> units;
    for (const std::size_t i : which) units.push_back(unit_of(request_.candidates[i]));
    std::size_t done = 0;
    return jit::compile_all(units, options_.toolchain, options_.store, options_.jobs,
                            options_.deadlines.compile,
                            [&](std::size_t, const Result<jit::Artifact>&) {
                                say(fmt::format("compiled {} of {}", ++done, units.size()));
                            });
}

void Searcher::keep_artifacts(const std::vector<std::size_t>& which,
                              std::vector<Result<jit::Artifact>> artifacts) {
    for (std::size_t u = 0; u < which.size(); ++u) {
        const std::size_t i = which[u];
        built_[i] = true;
        if (!artifacts[u]) {
            refuse(i, Outcome::failed_to_build, artifacts[u].error().text());
            continue;
        }
        CandidateResult& result = found_.results[i];
        result.compile_key = artifacts[u]->identity();
        result.compile_seconds = artifacts[u]->seconds;
        result.cached =
            artifacts[u]->cached && !(options_.ahead && options_.ahead->is_new(artifacts[u]->key));
        result.registers = artifacts[u]->registers;
        result.spill_bytes = artifacts[u]->spill_bytes;
        result.fitness = jit::name(artifacts[u]->fitness);
        compiled_[i] = std::move(*artifacts[u]);
    }
}

Result<> Searcher::measure(WorkerSession& session, std::size_t i, const Rung& rung) {
    const Candidate& candidate = request_.candidates[i];
    verify::CandidateRequest request;
    request.cubin = compiled_[i]->cubin.string();
    request.record = (request_.scratch / (candidate.name + ".json")).string();
    request.single_ms = rung.single_ms;
    request.sustained_ms = rung.sustained_ms;
    request.proof = candidate.from_file ? Proof::full : rung.proof;
    if (!timed()) request.fault = candidate.fault;
    auto written = write_file_atomic(request.record, to_json(candidate.record));
    if (!written) return written.error();
    const auto asked = Clock::now();
    // A large call, which takes seconds to prepare, has its results in f64 computed anew for each
    // case.
    const Seconds again(
        std::clamp(4 * (found_.prepare_seconds - 1), 0.0, options_.deadlines.open.count()));
    const bool brief = rung.sustained_ms == 0 && request.proof == Proof::quick;
    auto reply = session.measure(
        request, again + (brief ? options_.deadlines.measure : options_.deadlines.sustained));
    found_.results[i].measure_seconds += Seconds(Clock::now() - asked).count();
    if (!reply) return reply.error();
    settle(i, std::move(*reply));
    ++found_.measurements;
    const CandidateResult& result = found_.results[i];
    const std::string what =
        result.outcome == Outcome::passed && timed()
            ? fmt::format("{:.1f} us, torch {:.1f} us", result.single.median_us,
                          result.baseline_single.median_us)
            : std::string(verify::name(result.outcome));
    say(fmt::format("{}: {} {}", result.name, what, result.schedule));
    return Ok{};
}

// What the search knows before candidate `i` is tried.
sol::SearchState Searcher::standing_before(std::size_t i) const {
    sol::SearchState standing;
    standing.bound_us = request_.bound_us;
    const int best = best_of(found_.results);
    if (best < 0) return standing;
    standing.best_us = found_.results[static_cast<std::size_t>(best)].single.median_us;
    for (std::size_t j = 0; j < found_.results.size(); ++j) {
        const Candidate& candidate = request_.candidates[j];
        if (j >= i && candidate.unsupported.empty())
            standing.remaining_us.push_back(candidate.expected_us);
        else if (j < i && found_.results[j].outcome == Outcome::passed && candidate.expected_us > 0)
            standing.tried.push_back({candidate.expected_us, found_.results[j].single.median_us});
    }
    return standing;
}

// Why the candidate is not tried; "" if it is. A reason that ends the whole search is also stored
// in `found_.stopped`, and then holds for every later candidate.
std::string Searcher::untried_because(std::size_t i) {
    if (!timed() || request_.candidates[i].from_file) return "";
    if (!found_.stopped.empty()) return found_.stopped;
    const sol::SearchState standing = standing_before(i);
    if (standing.best_us <= 0) return "";  // none has passed yet
    if (out_of_time()) return found_.stopped = "its time budget was used up";
    if (!options_.stop_early) return "";
    if (const sol::Verdict verdict = sol::decide(standing); !verdict.go_on)
        return found_.stopped = verdict.reason;
    // A candidate that is compiled already is measured: compiling takes most of the time.
    if (!built_[i] && !sol::may_be_best(request_.candidates[i].expected_us, standing))
        return "the cost model expects it to be slower than the best so far";
    return "";
}

Result<> Searcher::measure_all(WorkerSession& session) {
    for (std::size_t i = 0; i < compiled_.size(); ++i) {
        if (!request_.candidates[i].unsupported.empty()) {
            refuse(i, Outcome::unsupported, request_.candidates[i].unsupported);
            continue;
        }
        if (const std::string why = untried_because(i); !why.empty()) {
            found_.results[i].outcome = Outcome::untried;
            found_.results[i].why = why;
            continue;
        }
        if (!built_[i]) {
            const auto batch = next_batch(i);
            keep_artifacts(batch, build(batch));
        }
        if (interrupted()) return Error{"interrupted", ""};
        if (!compiled_[i]) continue;
        if (auto done = measure(session, i, quick() ? kQuickFirst : kFirst); !done) return done;
    }
    return Ok{};
}

// Unless the search is quick, measures the best few again, long enough to heat the GPU: at its
// power limit another kernel may be the fastest. The winner is proved in full; if it fails, the
// next one takes its place.
Result<> Searcher::choose_winner(WorkerSession& session) {
    std::vector<bool> proven(found_.results.size());
    for (;;) {
        found_.winner = best_of(found_.results);
        if (found_.winner < 0) return Ok{};
        // Its proof measured it again: that another now looks a little better is noise.
        const auto time_of = [&](std::size_t i) { return found_.results[i].single.median_us; };
        double least = kSame * time_of(static_cast<std::size_t>(found_.winner));
        for (std::size_t i = 0; i < proven.size(); ++i)
            if (proven[i] && found_.results[i].outcome == Outcome::passed && time_of(i) < least) {
                found_.winner = static_cast<int>(i);
                least = time_of(i);
            }
        const auto winner = static_cast<std::size_t>(found_.winner);
        if (!timed() || proven[winner]) break;
        if (!quick() && found_.results[winner].sustained.runs == 0) {
            const auto passed =
                std::ranges::count(found_.results, Outcome::passed, &CandidateResult::outcome);
            auto few = contenders(found_.results, max_contenders(static_cast<std::size_t>(passed)));
            if (few.size() > 1 && !out_of_time()) {
                for (const int i : few)
                    if (auto done = measure(session, static_cast<std::size_t>(i), kContender);
                        !done)
                        return done;
                continue;
            }
        }
        if (auto done = measure(session, winner, quick() ? kQuickWinner : kWinner); !done)
            return done;
        proven[winner] = true;
    }
    const CandidateResult& best = found_.results[static_cast<std::size_t>(found_.winner)];
    found_.artifact = compiled_[static_cast<std::size_t>(found_.winner)];
    found_.best = {best.outcome,
                   best.why,
                   best.checks,
                   best.single,
                   best.baseline_single,
                   best.sustained,
                   best.baseline_sustained,
                   best.finding,
                   best.note};
    return Ok{};
}

Result<SearchResult> Searcher::run() {
    const std::size_t count = request_.candidates.size();
    found_.results.resize(count);
    compiled_.resize(count);
    built_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        found_.results[i].name = request_.candidates[i].name;
        found_.results[i].schedule = request_.candidates[i].schedule;
        found_.results[i].expected_us = request_.candidates[i].expected_us;
        found_.results[i].fetched = request_.candidates[i].fetched;
    }
    auto worker = find_worker(options_.worker);
    if (!worker) return worker.error();
    const auto first = next_batch(0);
    // With a GPU the compilers work while the text is proved, and other runs have the GPU
    // meanwhile. Without one a wrong text is not worth compiling.
    std::future<std::vector<Result<jit::Artifact>>> building;
    if (timed()) building = std::async(std::launch::async, [&] { return build(first); });
    say("checking the kernel text");
    const auto opening = Clock::now();
    std::vector<Result<jit::Artifact>> artifacts;
    const auto finish_building = [&] {
        if (building.valid()) artifacts = building.get();
    };
    auto session = WorkerSession::open(*worker, request_.open, options_.deadlines.open,
                                       options_.idle_worker, finish_building);
    found_.prepare_seconds = Seconds(Clock::now() - opening).count();
    finish_building();
    if (interrupted()) return Error{"interrupted", ""};
    const auto mark_all = [&](Outcome outcome, const std::string& why) {
        for (auto& result : found_.results) result.outcome = outcome, result.why = why;
    };
    if (!session && says_gpu_is_gone(session.error().message)) return session.error();
    if (!session) {
        found_.opened.error = session.error().text();
        mark_all(Outcome::unsupported, "not tried: the pattern cannot be prepared");
        return found_;
    }
    found_.prepare_seconds = session->prepared_in().count();
    found_.opened = session->opened();
    const auto& checks = found_.opened.text_checks;
    if (std::any_of(checks.begin(), checks.end(), [](const auto& c) { return !c.passed; })) {
        mark_all(Outcome::incorrect,
                 "not tried: the kernel text does not compute what the module does");
        return found_;
    }
    if (timed()) keep_artifacts(first, std::move(artifacts));
    if (auto measured = measure_all(*session); !measured) return measured.error();
    if (auto chosen = choose_winner(*session); !chosen) return chosen.error();
    return found_;
}

}  // namespace

Result<SearchResult> search(const SearchRequest& request, const RealizeOptions& options) {
    return Searcher(request, options).run();
}

}  // namespace fact::tune

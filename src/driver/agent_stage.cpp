#include "driver/agent_stage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "agent/advice.h"
#include "agent/answer.h"
#include "agent/proposal.h"
#include "driver/action_requests.h"
#include "driver/agent_questions.h"
#include "driver/interview.h"
#include "driver/loaded_run.h"
#include "driver/realize.h"
#include "support/progress.h"
#include "support/subprocess.h"

namespace fact::driver {

namespace {

constexpr std::size_t kMaxProposals = 8;  // sets of operators
constexpr int kMaxAttempts = 3;           // questions about one set
constexpr int kMaxUnanswered = 2;         // questions in a row without an answer, about one set
// A kernel that takes longer than so many times its bound is slow: parts of its set may do better.
constexpr double kFarFromBound = 1.5;
constexpr double kMinShare = 0.01;  // of the module's time: less is not worth a question
// A text counts as faster only if it takes less than this share of the best time so far: smaller
// differences are noise.
constexpr double kClearlyFaster = 0.98;

// Asks the model for sets of operators, then for a kernel for each of them.
class Loop {
  public:
    Loop(LoadedRun& loaded, const AgentRequest& request, Interview& interview,
         report::Agent& report, Realizations realizations)
        : loaded_(loaded),
          request_(request),
          interview_(interview),
          report_(report),
          realizations_(std::move(realizations)) {
        for (const auto& bound : loaded_.bounds) total_us_ += bound.unfused_us;
    }

    Result<> run() {
        const auto targets = find_targets();
        if (!targets) return targets.error();
        double can_save_us = 0;  // at most, by the sets that were not tried yet
        for (const auto& target : *targets) can_save_us += target.now_us - target.cost.bound_us;
        bool ended = false;
        for (const auto& target : *targets) {
            if (interrupted()) return Error{"interrupted", ""};
            ended = ended || interview_.out_of_budget();
            if (!ended && can_save_us < kMinShare * total_us_) {
                report_.stopped = "what is left to save is under 1 % of the module's time";
                ended = true;
            }
            if (ended) {
                auto row = row_of(target);
                row.outcome = "not tried: " + report_.stopped;
                report_.rows.push_back(std::move(row));
                continue;
            }
            can_save_us -= target.now_us - target.cost.bound_us;
            if (const auto by = covered_by(target.set); !by.empty()) {
                ++report_.refused;
                auto row = row_of(target);
                row.outcome = "its operators are in " + by;
                report_.rows.push_back(std::move(row));
                continue;
            }
            if (auto fine = write_for(target); !fine) return fine.error();
        }
        if (report_.stopped.empty()) report_.stopped = "every set that was worth it has been tried";
        return Ok{};
    }

  private:
    Result<std::string> ask(agent::Question question) {
        progress_.status(question.about.empty() ? question.stage
                                                : question.stage + " " + question.about);
        return interview_.ask(std::move(question));
    }

    // The accepted pattern that has all operators of the set and is not far from its bound; "" if
    // there is none. If the pattern's kernel is slow, one for a part of it may be better.
    std::string covered_by(const agent::NodeSet& set) const {
        for (const auto& pattern : loaded_.found.discovery.patterns) {
            const auto has = [&](graph::NodeId id) {
                return std::ranges::find(pattern.nodes, loaded_.found.graph[id].name) !=
                       pattern.nodes.end();
            };
            const auto row = std::ranges::find(report_.rows, pattern.id, &report::AgentRow::id);
            const bool slow =
                row != report_.rows.end() && row->time_us > kFarFromBound * row->bound_us;
            if (pattern.author == match::Author::agent && !slow &&
                std::ranges::all_of(set.nodes, has))
                return pattern.id;
        }
        return {};
    }

    report::AgentRow row_of(const TargetSet& target) const {
        report::AgentRow row;
        row.id = target.id;
        row.operators = static_cast<int>(target.set.nodes.size());
        row.where = graph::describe(loaded_.found.graph[target.set.nodes.front()].where);
        row.now_us = target.now_us;
        row.bound_us = target.cost.bound_us;
        return row;
    }

    // The current time of a set's operators: by the rules' kernels if they are in patterns, else by
    // torch's.
    double now_us(const agent::NodeSet& set) const {
        std::set<std::string> inside;
        for (const auto id : set.nodes) inside.insert(loaded_.found.graph[id].name);
        std::set<std::string> covered;
        double us = 0;
        for (const auto& pattern : loaded_.found.discovery.patterns) {
            const auto in = [&](const std::string& node) { return inside.contains(node); };
            const auto taken = [&](const std::string& node) { return covered.contains(node); };
            if (!std::ranges::all_of(pattern.nodes, in) ||
                std::ranges::any_of(pattern.nodes, taken))
                continue;
            covered.insert(pattern.nodes.begin(), pattern.nodes.end());
            us += expected_us(pattern, realizations_);
        }
        for (const auto& bound : loaded_.bounds) {
            const auto& name = loaded_.found.graph[bound.node].name;
            if (inside.contains(name) && !covered.contains(name)) us += bound.unfused_us;
        }
        return us;
    }

    // The sets that the model names and that are worth a kernel, largest savings first.
    Result<std::vector<TargetSet>> find_targets() {
        auto prompt = find_question(loaded_, static_cast<int>(kMaxProposals), request_.bounds);
        if (!prompt) return prompt.error();
        std::vector<agent::ProposedSet> named;
        std::string why_none;
        // If an answer cannot be read, the question is asked once more.
        for (int attempt = 0; attempt < 2; ++attempt) {
            if (interview_.out_of_budget(*prompt)) break;
            const auto answer = ask({"find", "", attempt, *prompt});
            if (!answer) return answer.error();
            auto read = agent::read_proposals(*answer);
            if (read) named = std::move(*read);
            why_none = answer->empty() ? interview_.last_failure()
                       : read          ? unreadable(named)
                                       : read.error().message;
            if (why_none.empty()) break;
            if (!answer->empty())
                *prompt += fmt::format("\n# Your last answer\nIt cannot be used: {}.\n", why_none);
        }
        if (named.empty() && why_none.empty())
            why_none = "the model's answer names no set of operators";
        if (report_.stopped.empty()) report_.stopped = why_none;
        report_.named = static_cast<int>(named.size());
        std::vector<TargetSet> targets;
        std::size_t considered = 0;
        for (const auto& set : named)
            if (!set.mistake.empty())
                refuse(set, "it cannot be read: " + set.mistake);
            else if (considered++ < kMaxProposals)
                add(set, targets);
            else
                refuse(set, fmt::format("at most {} sets are considered", kMaxProposals));
        std::ranges::stable_sort(targets, std::ranges::greater(), [](const TargetSet& target) {
            return target.now_us - target.cost.bound_us;
        });
        return targets;
    }

    // What is wrong with the first set of an answer in which no set can be read; else "".
    static std::string unreadable(const std::vector<agent::ProposedSet>& named) {
        const auto can_be_read = [](const auto& set) { return set.mistake.empty(); };
        if (named.empty() || std::ranges::any_of(named, can_be_read)) return {};
        return named.front().mistake;
    }

    void refuse(const agent::ProposedSet& named, std::string why) {
        ++report_.refused;
        report::AgentRow row;
        // The set may have no proposal, and so no id: its operators stand for one.
        row.id = named.nodes.empty() ? "(no operators)"
                                     : fmt::format("{}", fmt::join(named.nodes, " ")).substr(0, 60);
        row.operators = static_cast<int>(named.nodes.size());
        row.where = "the graph";
        row.outcome = std::move(why);
        report_.rows.push_back(std::move(row));
    }

    void add(const agent::ProposedSet& named, std::vector<TargetSet>& targets) {
        auto set = agent::node_set(loaded_.found.graph, named.nodes);
        if (!set) return refuse(named, set.error().message);
        TargetSet target{agent::proposal_id(loaded_.found.graph, *set),
                         std::move(*set),
                         {},
                         0,
                         request_.bounds,
                         request_.cuda};
        if (std::ranges::find(targets, target.id, &TargetSet::id) != targets.end())
            return refuse(named, "it was named twice");
        target.cost = agent::cost_of(loaded_.found.graph, target.set, loaded_.options);
        target.now_us = now_us(target.set);
        if (target.now_us < agent::kNearBound * target.cost.bound_us)
            return refuse(
                named,
                fmt::format("it is within 10 % of its bound already ({:.1f} us, bound {:.1f} us)",
                            target.now_us, target.cost.bound_us));
        targets.push_back(std::move(target));
    }

    static int tokens_of(const report::AgentRow& row) {
        int tokens = 0;
        for (const auto& text : row.texts) tokens += text.tokens;
        return tokens;
    }

    // Whether the text has no mistakes and, if candidates were made, one of them compiled.
    static bool compiled(const Json& reply) {
        const auto built = [](const Json& candidate) {
            return candidate["outcome"] != "failed_to_build" &&
                   candidate["outcome"] != "unsupported";
        };
        const auto candidates = reply.value("candidates", Json::array());
        // Only a text without mistakes is checked against torch.
        if (candidates.empty()) return !reply.value("text_checks", Json::array()).empty();
        return std::ranges::any_of(candidates, built);
    }

    // Whether no further text is asked for after this accepted one; `better`: it is faster than the
    // texts before it. A model that is not told the bounds is not stopped by them.
    bool good_enough(const Json& reply, bool better) const {
        if (!reply.contains("time_us")) return true;  // nothing tells texts apart without a GPU
        if (!request_.bounds) return false;
        return !better || reply["time_us"].get<double>() <=
                              agent::kNearBound * reply["cost"].value("bound_us", 0.0);
    }

    Result<> write_for(const TargetSet& target) {
        auto row = row_of(target);
        auto prompt = write_question(loaded_, target);
        if (!prompt) return prompt.error();
        Json names = Json::array();
        for (const auto id : target.set.nodes) names.push_back(loaded_.found.graph[id].name);
        // `write` looks the proposal up by its id.
        if (auto kept = propose(loaded_, {{"nodes", names}}); !kept) return kept.error();
        double best_us = 0;
        int unanswered = 0;
        for (int attempt = 0; attempt < kMaxAttempts && !interview_.out_of_budget(*prompt);
             ++attempt) {
            const auto answer = ask({"write", target.id, attempt, *prompt});
            if (!answer) return answer.error();
            if (answer->empty()) {  // the same question may get an answer the next time
                if (!row.accepted()) row.outcome = interview_.last_failure();
                if (row.accepted() || ++unanswered == kMaxUnanswered) break;
                continue;
            }
            unanswered = 0;
            const int tokens = interview_.used_for(target.id).tokens() - tokens_of(row);
            if (agent::gives_up(*answer)) {
                if (!row.accepted() && row.texts.empty())
                    row.outcome = "the model gave up before it wrote a text";
                break;
            }
            row.texts.push_back({false, 0, tokens});
            const auto text =
                request_.cuda ? agent::read_code_block(*answer) : agent::read_kernel_text(*answer);
            Json reply{{"error", text ? "" : text.error().text()}};
            if (text) {
                auto written = request_.cuda
                                   ? write_cuda(loaded_, target.id, *text)
                                   : write(loaded_, {{"proposal", target.id}, {"text", *text}});
                if (written)
                    reply = std::move(*written);
                else
                    reply["error"] = written.error().text();
                if (row.texts.size() == 1) row.first_compiled = compiled(reply);
            }
            const bool accepted = reply.value("accepted", false);
            if (accepted) {
                row.outcome = "accepted";
                const double us = reply.value("time_us", 0.0);
                row.texts.back().accepted = true;
                row.texts.back().time_us = us;
                // A text may compute the same with less work than its operators.
                row.bound_us = std::min(row.bound_us, reply["cost"].value("bound_us", 0.0));
                const bool better = best_us == 0 || us < kClearlyFaster * best_us;
                best_us = better ? us : best_us;
                if (good_enough(reply, better)) break;
            } else if (row.outcome != "accepted") {
                row.outcome = diagnosis(reply).substr(0, 300);
            }
            if (reply.value("unverified", false)) break;  // without a GPU no text gets further
            prompt =
                revise_question(loaded_, target, text ? *text : answer->substr(0, 4000), reply);
            if (!prompt) return prompt.error();
        }
        row.time_us = best_us;
        row.use = interview_.used_for(target.id);
        report_.accepted += row.accepted();
        progress_.step(
            fmt::format("{}: {}", row.id, row.outcome.substr(0, row.outcome.find('\n'))));
        report_.rows.push_back(std::move(row));
        return Ok{};
    }

    LoadedRun& loaded_;
    const AgentRequest& request_;
    Interview& interview_;
    report::Agent& report_;
    Realizations realizations_;  // of the rules' patterns
    Progress progress_{"agent", 0};
    double total_us_ = 0;
};

// Only the program of a command: its arguments may contain a key.
std::string without_arguments(const std::string& provider) {
    return provider.starts_with("command:") ? provider.substr(0, provider.find(' ')) : provider;
}

}  // namespace

Result<report::Agent> agent_stage(const RunFolder& run, const AgentRequest& request,
                                  const RealizeRequest& realizing) {
    if (request.provider == "rules") return report::Agent{};
    auto loaded = load_run(run);
    if (!loaded) return loaded.error();
    loaded->realizing = realizing;
    loaded->realizing.also.clear();  // the user's CUDA files are not candidates for other texts
    report::Agent report;
    report.provider = without_arguments(request.provider);
    report.price = request.price;
    report.writes = request.cuda ? "cuda" : "language";
    report.bounds = request.bounds;
    auto interview = Interview::begin(loaded->environment, run, request, report);
    if (!interview) return interview.error();
    auto realizations = read_realizations(run, loaded->found.discovery);
    if (!realizations) return realizations.error();
    if (auto fine = Loop(*loaded, request, *interview, report, std::move(*realizations)).run();
        !fine)
        return fine.error();
    return report;
}

}  // namespace fact::driver

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

constexpr std::size_t kMaxProposals = 8;
constexpr int kMaxAttempts = 3;
constexpr int kMaxUnanswered = 2;      // in a row
constexpr double kFarFromBound = 1.5;  // beyond that, parts of the set may be worth a try
constexpr double kMinShare = 0.01;     // of the module's time: less is not worth a question

class Loop {
  public:
    Loop(LoadedRun& loaded, const AgentRequest& request, Interview& interview, report::Agent& done,
         Realizations realizations)
        : loaded_(loaded),
          request_(request),
          interview_(interview),
          done_(done),
          realizations_(std::move(realizations)) {
        for (const auto& one : loaded_.bounds) total_us_ += one.unfused_us;
    }

    Result<> run() {
        const auto wanted = find();
        if (!wanted) return wanted.error();
        double left = 0;
        for (const auto& one : *wanted) left += one.now_us - one.cost.bound_us;
        bool ended = false;
        for (const auto& one : *wanted) {
            if (interrupted()) return Error{"interrupted", ""};
            ended = ended || interview_.out_of_budget();
            if (!ended && left < kMinShare * total_us_) {
                done_.stopped = "what is left to save is under 1 % of the module's time";
                ended = true;
            }
            if (ended) {
                auto row = row_of(one);
                row.outcome = "not tried: " + done_.stopped;
                done_.rows.push_back(std::move(row));
                continue;
            }
            left -= one.now_us - one.cost.bound_us;
            if (const auto by = covered_by(one.set); !by.empty()) {
                ++done_.refused;
                auto row = row_of(one);
                row.outcome = "its operators are in " + by;
                done_.rows.push_back(std::move(row));
                continue;
            }
            if (auto fine = write_for(one); !fine) return fine.error();
        }
        if (done_.stopped.empty()) done_.stopped = "every set that was worth it has been tried";
        return Ok{};
    }

  private:
    Result<std::string> ask(agent::Question question) {
        progress_.status(question.about.empty() ? question.stage
                                                : question.stage + " " + question.about);
        return interview_.ask(std::move(question));
    }

    // The accepted pattern that has all operators of the set and is not far from its bound; "" if
    // there is none. If a large set is slow, a kernel for a part of it may be better.
    std::string covered_by(const agent::NodeSet& set) const {
        for (const auto& pattern : loaded_.found.discovery.patterns) {
            const auto has = [&](graph::NodeId id) {
                return std::ranges::find(pattern.nodes, loaded_.found.graph[id].name) !=
                       pattern.nodes.end();
            };
            const auto row = std::ranges::find(done_.rows, pattern.id, &report::AgentRow::id);
            const bool slow =
                row != done_.rows.end() && row->time_us > kFarFromBound * row->bound_us;
            if (pattern.author == match::Author::agent && !slow &&
                std::ranges::all_of(set.nodes, has))
                return pattern.id;
        }
        return {};
    }

    report::AgentRow row_of(const TargetSet& wanted) const {
        report::AgentRow row;
        row.id = wanted.id;
        row.operators = static_cast<int>(wanted.set.nodes.size());
        row.where = graph::describe(loaded_.found.graph[wanted.set.nodes.front()].where);
        row.now_us = wanted.now_us;
        row.bound_us = wanted.cost.bound_us;
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
        for (const auto& one : loaded_.bounds) {
            const auto& name = loaded_.found.graph[one.node].name;
            if (inside.contains(name) && !covered.contains(name)) us += one.unfused_us;
        }
        return us;
    }

    // The sets that the model names and that are worth a kernel, largest savings first.
    Result<std::vector<TargetSet>> find() {
        auto prompt = find_question(loaded_, static_cast<int>(kMaxProposals), request_.bounds);
        if (!prompt) return prompt.error();
        std::vector<agent::Named> named;
        std::string why;
        for (int attempt = 0; attempt < 2; ++attempt) {
            if (interview_.out_of_budget(*prompt)) break;
            const auto answer = ask({"find", "", attempt, *prompt});
            if (!answer) return answer.error();
            auto read = agent::read_proposals(*answer);
            why = read              ? "it names no set of operators"
                  : answer->empty() ? interview_.last_failure()
                                    : read.error().message;
            if (!read) continue;
            named = std::move(*read);
            break;
        }
        if (named.empty() && done_.stopped.empty()) done_.stopped = why;
        done_.named = static_cast<int>(named.size());
        std::vector<TargetSet> wanted;
        for (std::size_t i = 0; i < named.size(); ++i)
            if (i < kMaxProposals)
                add(named[i], wanted);
            else
                refuse(named[i], fmt::format("at most {} sets are considered", kMaxProposals));
        std::ranges::stable_sort(wanted, std::ranges::greater(), [](const TargetSet& one) {
            return one.now_us - one.cost.bound_us;
        });
        return wanted;
    }

    void refuse(const agent::Named& named, std::string why) {
        ++done_.refused;
        report::AgentRow row;
        row.id = fmt::format("{}", fmt::join(named.nodes, " ")).substr(0, 60);
        row.operators = static_cast<int>(named.nodes.size());
        row.where = "the graph";
        row.outcome = std::move(why);
        done_.rows.push_back(std::move(row));
    }

    void add(const agent::Named& named, std::vector<TargetSet>& wanted) {
        auto set = agent::node_set(loaded_.found.graph, named.nodes);
        if (!set) return refuse(named, set.error().message);
        TargetSet one{agent::proposal_id(loaded_.found.graph, *set),
                      std::move(*set),
                      {},
                      0,
                      request_.bounds,
                      request_.cuda};
        if (std::ranges::find(wanted, one.id, &TargetSet::id) != wanted.end())
            return refuse(named, "it was named twice");
        one.cost = agent::cost_of(loaded_.found.graph, one.set, loaded_.options);
        one.now_us = now_us(one.set);
        if (one.now_us < agent::kNearBound * one.cost.bound_us)
            return refuse(named,
                          fmt::format("within 10 % of its bound already ({:.1f} of {:.1f} us)",
                                      one.now_us, one.cost.bound_us));
        wanted.push_back(std::move(one));
    }

    static int tokens_of(const report::AgentRow& row) {
        int tokens = 0;
        for (const auto& text : row.texts) tokens += text.tokens;
        return tokens;
    }

    // Whether the text has no mistakes and, if it got that far, one of its kernels compiled.
    static bool compiled(const Json& reply) {
        const auto built = [](const Json& one) {
            return one["outcome"] != "failed_to_build" && one["outcome"] != "unsupported";
        };
        const auto kernels = reply.value("candidates", Json::array());
        if (kernels.empty()) return !reply.value("text_checks", Json::array()).empty();
        return std::ranges::any_of(kernels, built);
    }

    // Whether another text than this accepted one can gain nothing. A model that is not told the
    // bounds is not stopped by them.
    bool good_enough(const Json& reply, bool better) const {
        if (!reply.contains("time_us")) return true;  // nothing tells texts apart without a GPU
        if (!request_.bounds) return false;
        return !better || reply["time_us"].get<double>() <=
                              agent::kNearBound * reply["cost"].value("bound_us", 0.0);
    }

    Result<> write_for(const TargetSet& wanted) {
        auto row = row_of(wanted);
        auto prompt = write_question(loaded_, wanted);
        if (!prompt) return prompt.error();
        Json names = Json::array();
        for (const auto id : wanted.set.nodes) names.push_back(loaded_.found.graph[id].name);
        if (auto kept = propose(loaded_, {{"nodes", names}}); !kept) return kept.error();
        double best_us = 0;
        int unanswered = 0;
        for (int attempt = 0; attempt < kMaxAttempts && !interview_.out_of_budget(*prompt);
             ++attempt) {
            const auto answer = ask({"write", wanted.id, attempt, *prompt});
            if (!answer) return answer.error();
            if (answer->empty()) {  // the same question may get an answer, but only a few tries
                if (!row.accepted()) row.outcome = interview_.last_failure();
                if (row.accepted() || ++unanswered == kMaxUnanswered) break;
                continue;
            }
            unanswered = 0;
            const int tokens = interview_.used_for(wanted.id).tokens() - tokens_of(row);
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
                                   ? write_cuda(loaded_, wanted.id, *text)
                                   : write(loaded_, {{"proposal", wanted.id}, {"text", *text}});
                if (written)
                    reply = std::move(*written);
                else
                    reply["error"] = written.error().text();
                if (attempt == 0) row.first_compiled = compiled(reply);
            }
            const bool accepted = reply.value("accepted", false);
            if (accepted) {
                row.outcome = "accepted";
                const double us = reply.value("time_us", 0.0);
                row.texts.back().accepted = true;
                row.texts.back().time_us = us;
                row.bound_us = std::min(row.bound_us, reply["cost"].value("bound_us", 0.0));
                const bool better = best_us == 0 || us < 0.98 * best_us;
                best_us = better ? us : best_us;
                if (good_enough(reply, better)) break;
            } else if (row.outcome != "accepted") {
                row.outcome = diagnosis(reply).substr(0, 300);
            }
            if (reply.value("unverified", false)) break;  // no text would get further here
            prompt =
                revise_question(loaded_, wanted, text ? *text : answer->substr(0, 4000), reply);
            if (!prompt) return prompt.error();
        }
        row.time_us = best_us;
        row.use = interview_.used_for(wanted.id);
        done_.accepted += row.accepted();
        progress_.step(
            fmt::format("{}: {}", row.id, row.outcome.substr(0, row.outcome.find('\n'))));
        done_.rows.push_back(std::move(row));
        return Ok{};
    }

    LoadedRun& loaded_;
    const AgentRequest& request_;
    Interview& interview_;
    report::Agent& done_;
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
    loaded->realizing.also.clear();
    report::Agent done;
    done.provider = without_arguments(request.provider);
    done.price = request.price;
    done.writes = request.cuda ? "cuda" : "language";
    done.bounds = request.bounds;
    auto interview = Interview::begin(loaded->environment, run, request, done);
    if (!interview) return interview.error();
    auto realizations = read_realizations(run, loaded->found.discovery);
    if (!realizations) return realizations.error();
    if (auto fine = Loop(*loaded, request, *interview, done, std::move(*realizations)).run(); !fine)
        return fine.error();
    return done;
}

}  // namespace fact::driver

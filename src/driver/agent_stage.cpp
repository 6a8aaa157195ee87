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
#include "driver/desk.h"
#include "driver/interview.h"
#include "driver/realize.h"
#include "support/progress.h"
#include "support/subprocess.h"

namespace fact::driver {

namespace {

constexpr std::size_t kMaxProposals = 8;
constexpr int kMaxAttempts = 3;
constexpr int kMaxUnanswered = 2;      // in a row
constexpr double kFarFromBound = 1.5;  // what is further may be worth a try in parts
constexpr double kMinShare = 0.01;     // of the module's time: less is not worth a question

class Loop {
  public:
    Loop(Desk& desk, const AgentRequest& request, Interview& interview, report::Agent& done,
         Realizations realizations)
        : desk_(desk),
          request_(request),
          interview_(interview),
          done_(done),
          realizations_(std::move(realizations)) {
        for (const auto& one : desk_.bounds) total_us_ += one.unfused_us;
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

    // The accepted pattern that has all operators of the set, and does not run far from its bound;
    // "" where none has: of a large set that runs badly a part may be better.
    std::string covered_by(const agent::NodeSet& set) const {
        for (const auto& pattern : desk_.found.discovery.patterns) {
            const auto has = [&](graph::NodeId id) {
                return std::ranges::find(pattern.nodes, desk_.found.graph[id].name) !=
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

    report::AgentRow row_of(const Wanted& wanted) const {
        report::AgentRow row;
        row.id = wanted.id;
        row.operators = static_cast<int>(wanted.set.nodes.size());
        row.where = graph::describe(desk_.found.graph[wanted.set.nodes.front()].where);
        row.now_us = wanted.now_us;
        row.bound_us = wanted.cost.bound_us;
        return row;
    }

    // What the operators of a set take today: those in patterns as the rules' kernels do, all
    // others as torch's.
    double now_us(const agent::NodeSet& set) const {
        std::set<std::string> inside;
        for (const auto id : set.nodes) inside.insert(desk_.found.graph[id].name);
        std::set<std::string> covered;
        double us = 0;
        for (const auto& pattern : desk_.found.discovery.patterns) {
            const auto in = [&](const std::string& node) { return inside.contains(node); };
            const auto taken = [&](const std::string& node) { return covered.contains(node); };
            if (!std::ranges::all_of(pattern.nodes, in) ||
                std::ranges::any_of(pattern.nodes, taken))
                continue;
            covered.insert(pattern.nodes.begin(), pattern.nodes.end());
            us += expected_us(pattern, realizations_);
        }
        for (const auto& one : desk_.bounds) {
            const auto& name = desk_.found.graph[one.node].name;
            if (inside.contains(name) && !covered.contains(name)) us += one.unfused_us;
        }
        return us;
    }

    // The sets that the model names and that are worth a kernel, those that save most first.
    Result<std::vector<Wanted>> find() {
        auto prompt = find_question(desk_, static_cast<int>(kMaxProposals), request_.bounds);
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
        std::vector<Wanted> wanted;
        for (std::size_t i = 0; i < named.size(); ++i)
            if (i < kMaxProposals)
                add(named[i], wanted);
            else
                refuse(named[i], fmt::format("at most {} sets are taken", kMaxProposals));
        std::ranges::stable_sort(wanted, std::ranges::greater(),
                                 [](const Wanted& one) { return one.now_us - one.cost.bound_us; });
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

    void add(const agent::Named& named, std::vector<Wanted>& wanted) {
        auto set = agent::node_set(desk_.found.graph, named.nodes);
        if (!set) return refuse(named, set.error().message);
        Wanted one{agent::proposal_id(desk_.found.graph, *set),
                   std::move(*set),
                   {},
                   0,
                   request_.bounds,
                   request_.cuda};
        if (std::ranges::find(wanted, one.id, &Wanted::id) != wanted.end())
            return refuse(named, "it was named twice");
        one.cost = agent::cost_of(desk_.found.graph, one.set, desk_.options);
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

    // Whether the language took the text, and the compiler a kernel of it where it came to that.
    static bool compiled(const Json& reply) {
        const auto built = [](const Json& one) {
            return one["outcome"] != "failed_to_build" && one["outcome"] != "unsupported";
        };
        const auto kernels = reply.value("candidates", Json::array());
        if (kernels.empty()) return !reply.value("text_checks", Json::array()).empty();
        return std::ranges::any_of(kernels, built);
    }

    // Whether there is nothing to gain by another text than this one, which was accepted. Who is
    // not told the bounds is not stopped by them.
    bool good_enough(const Json& reply, bool better) const {
        if (!reply.contains("time_us")) return true;  // nothing tells texts apart without a GPU
        if (!request_.bounds) return false;
        return !better || reply["time_us"].get<double>() <=
                              agent::kNearBound * reply["cost"].value("bound_us", 0.0);
    }

    Result<> write_for(const Wanted& wanted) {
        auto row = row_of(wanted);
        auto prompt = write_question(desk_, wanted);
        if (!prompt) return prompt.error();
        Json names = Json::array();
        for (const auto id : wanted.set.nodes) names.push_back(desk_.found.graph[id].name);
        if (auto kept = propose(desk_, {{"nodes", names}}); !kept) return kept.error();
        double best_us = 0;
        int unanswered = 0;
        for (int attempt = 0; attempt < kMaxAttempts && !interview_.out_of_budget(*prompt);
             ++attempt) {
            const auto answer = ask({"write", wanted.id, attempt, *prompt});
            if (!answer) return answer.error();
            if (answer->empty()) {  // the same question may fare better, but not for long
                if (!row.accepted()) row.outcome = interview_.last_failure();
                if (row.accepted() || ++unanswered == kMaxUnanswered) break;
                continue;
            }
            unanswered = 0;
            const int tokens = interview_.used_for(wanted.id).tokens() - tokens_of(row);
            if (agent::gives_up(*answer)) {
                if (!row.accepted() && row.texts.empty())
                    row.outcome = "it was given up before a text was written";
                break;
            }
            row.texts.push_back({false, 0, tokens});
            const auto text =
                request_.cuda ? agent::read_code_block(*answer) : agent::read_kernel_text(*answer);
            Json reply{{"error", text ? "" : text.error().text()}};
            if (text) {
                auto written = request_.cuda
                                   ? write_cuda(desk_, wanted.id, *text)
                                   : write(desk_, {{"proposal", wanted.id}, {"text", *text}});
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
            prompt = revise_question(desk_, wanted, text ? *text : answer->substr(0, 4000), reply);
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

    Desk& desk_;
    const AgentRequest& request_;
    Interview& interview_;
    report::Agent& done_;
    Realizations realizations_;  // of the rules' patterns
    Progress progress_{"agent", 0};
    double total_us_ = 0;
};

// Of a command the program alone: what it is given may hold a key.
std::string without_arguments(const std::string& provider) {
    return provider.starts_with("command:") ? provider.substr(0, provider.find(' ')) : provider;
}

}  // namespace

Result<report::Agent> agent_stage(const RunFolder& run, const AgentRequest& request,
                                  const RealizeRequest& realizing) {
    if (request.provider == "rules") return report::Agent{};
    auto desk = open_desk(run);
    if (!desk) return desk.error();
    desk->realizing = realizing;
    desk->realizing.also.clear();
    report::Agent done;
    done.provider = without_arguments(request.provider);
    done.price = request.price;
    done.writes = request.cuda ? "cuda" : "language";
    done.bounds = request.bounds;
    auto interview = Interview::begin(desk->environment, run, request, done);
    if (!interview) return interview.error();
    auto realizations = read_realizations(run, desk->found.discovery);
    if (!realizations) return realizations.error();
    if (auto fine = Loop(*desk, request, *interview, done, std::move(*realizations)).run(); !fine)
        return fine.error();
    return done;
}

}  // namespace fact::driver

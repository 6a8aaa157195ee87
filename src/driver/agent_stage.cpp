#include "driver/agent_stage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "agent/answer.h"
#include "agent/cuda_kernel.h"
#include "agent/proposal.h"
#include "agent/provider.h"
#include "driver/action_requests.h"
#include "driver/agent_questions.h"
#include "driver/desk.h"
#include "support/files.h"
#include "support/progress.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

constexpr int kMostProposals = 8;
constexpr int kMostAttempts = 3;
constexpr double kNearBound = 1.1;    // what is within 10 % of its bound is left as it is
constexpr double kLeastShare = 0.01;  // of the module's time: less is not worth a question
constexpr Seconds kPatience{300};     // for one answer

// The words before and after the first colon.
std::pair<std::string, std::string> halves(const std::string& provider) {
    const auto colon = provider.find(':');
    if (colon == std::string::npos) return {provider, ""};
    return {provider.substr(0, colon), provider.substr(colon + 1)};
}

Result<std::unique_ptr<agent::Provider>> make_provider(const Environment& environment,
                                                       const std::string& spelled) {
    const auto [kind, name] = halves(spelled);
    if (kind == "replay") return agent::replay_provider(name);
    if (kind == "command")
        return agent::command_provider({{"/bin/sh", "-c", name}, {}, {}, {}, kPatience});
    auto client = python_module(environment, "fact.agent_client", {kind, name});
    client.deadline = kPatience;
    return agent::command_provider(std::move(client), agent::Output::object);
}

class Loop {
  public:
    Loop(Desk& desk, agent::Provider& provider, const AgentRequest& request)
        : desk_(desk), provider_(provider), request_(request) {
        done_.provider = request.provider;
        done_.price = request.price;
        done_.writes = request.cuda ? "cuda" : "language";
        done_.bounds = request.bounds;
        for (const auto& one : desk_.bounds) total_us_ += one.unfused_us;
    }

    Result<report::Agent> run() {
        const auto wanted = find();
        if (!wanted) return wanted.error();
        double left = 0;
        for (const auto& one : *wanted) left += one.now_us - one.cost.bound_us;
        for (const auto& one : *wanted) {
            if (interrupted()) return Error{"interrupted", ""};
            if (out_of_budget()) break;
            if (left < kLeastShare * total_us_) {
                done_.stopped = "what is left to save is under 1 % of the module's time";
                break;
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
        return done_;
    }

  private:
    bool out_of_budget() {
        const auto used = done_.total();
        if (used.calls >= request_.calls)
            done_.stopped = fmt::format("{} calls were made", used.calls);
        else if (used.tokens() >= request_.tokens)
            done_.stopped = fmt::format("{} tokens were used", used.tokens());
        else if (Seconds(Clock::now() - started_).count() >= request_.seconds)
            done_.stopped = fmt::format("{:.0f} s were used", request_.seconds);
        return !done_.stopped.empty();
    }

    // "" where there is no answer; only a broken disk is an Error.
    Result<std::string> ask(agent::Question question) {
        progress_.status(question.about.empty() ? question.stage
                                                : question.stage + " " + question.about);
        const auto answer = provider_.ask(question);
        agent::Exchange exchange{std::move(question), {}, ""};
        if (answer) {
            exchange.answer = *answer;
        } else {
            exchange.error = agent::redacted(answer.error().message);
            last_failure_ = exchange.error;
        }
        count(exchange);
        const auto file = desk_.run.path() / "agent" / "transcript.jsonl";
        if (auto kept = agent::append_transcript(file, exchange); !kept) return kept.error();
        return exchange.answer.text;
    }

    void count(const agent::Exchange& exchange) {
        const auto& [question, answer, error] = exchange;
        const report::AgentUse use{1,
                                   !error.empty(),
                                   answer.tokens_in,
                                   answer.tokens_out,
                                   answer.seconds,
                                   answer.other_prompt};
        const bool again = question.attempt > 0;
        done_.retries += again;
        done_.stage(again && question.stage == "write" ? "revise" : question.stage) += use;
        by_set_[question.about] += use;
    }

    // The accepted pattern that has all operators of the set; "" where none has.
    std::string covered_by(const agent::NodeSet& set) const {
        for (const auto& pattern : desk_.found.discovery.patterns) {
            const auto has = [&](graph::NodeId id) {
                return std::ranges::find(pattern.nodes, desk_.found.graph[id].name) !=
                       pattern.nodes.end();
            };
            if (pattern.rule == agent::kRule && std::ranges::all_of(set.nodes, has))
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

    // What the operators of a set take today: those in patterns as the rules' kernels are expected
    // to run, all others as torch's.
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
            us += std::min(pattern.cost.expected_us, pattern.cost.unfused_us);
        }
        for (const auto& one : desk_.bounds) {
            const auto& name = desk_.found.graph[one.node].name;
            if (inside.contains(name) && !covered.contains(name)) us += one.unfused_us;
        }
        return us;
    }

    // The sets that the model names and that are worth a kernel, those that save most first.
    Result<std::vector<Wanted>> find() {
        auto prompt = find_question(desk_, kMostProposals, request_.bounds);
        if (!prompt) return prompt.error();
        std::vector<agent::Named> named;
        std::string why;
        for (int attempt = 0; attempt < 2 && named.empty(); ++attempt) {
            if (out_of_budget()) break;
            const auto answer = ask({"find", "", attempt, *prompt});
            if (!answer) return answer.error();
            auto read = agent::read_proposals(*answer);
            why = read              ? "it names no set of operators"
                  : answer->empty() ? last_failure_
                                    : read.error().message;
            if (!read) continue;
            named = std::move(*read);
            break;
        }
        if (named.empty() && done_.stopped.empty()) done_.stopped = why;
        named.resize(std::min(named.size(), static_cast<std::size_t>(kMostProposals)));
        done_.named = static_cast<int>(named.size());
        std::vector<Wanted> wanted;
        for (const auto& one : named) add(one, wanted);
        std::ranges::stable_sort(wanted, std::ranges::greater(),
                                 [](const Wanted& one) { return one.now_us - one.cost.bound_us; });
        return wanted;
    }

    void add(const agent::Named& named, std::vector<Wanted>& wanted) {
        const auto refuse = [&](std::string why) {
            ++done_.refused;
            report::AgentRow row;
            row.id = fmt::format("{}", fmt::join(named.nodes, " ")).substr(0, 60);
            row.operators = static_cast<int>(named.nodes.size());
            row.where = "the graph";
            row.outcome = std::move(why);
            done_.rows.push_back(std::move(row));
        };
        auto set = agent::node_set(desk_.found.graph, named.nodes);
        if (!set) return refuse(set.error().message);
        Wanted one{
            agent::proposal_id(desk_.found.graph, *set), std::move(*set), {}, 0, request_.bounds};
        if (std::ranges::find(wanted, one.id, &Wanted::id) != wanted.end())
            return refuse("it was named twice");
        one.cost = agent::cost_of(desk_.found.graph, one.set, desk_.options);
        one.now_us = now_us(one.set);
        if (one.now_us < kNearBound * one.cost.bound_us)
            return refuse(fmt::format("within 10 % of its bound already ({:.1f} of {:.1f} us)",
                                      one.now_us, one.cost.bound_us));
        wanted.push_back(std::move(one));
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

    // Whether there is nothing to gain by another text.
    static bool good_enough(const Json& reply) {
        if (!reply.value("accepted", false)) return false;
        if (!reply.contains("time_us")) return true;  // nothing tells texts apart without a GPU
        return reply["time_us"].get<double>() <= kNearBound * reply["cost"].value("bound_us", 0.0);
    }

    Result<> write_for(const Wanted& wanted) {
        auto row = row_of(wanted);
        auto prompt =
            request_.cuda ? write_cuda_question(desk_, wanted) : write_question(desk_, wanted);
        if (!prompt) return prompt.error();
        Json names = Json::array();
        for (const auto id : wanted.set.nodes) names.push_back(desk_.found.graph[id].name);
        if (auto kept = propose(desk_, {{"nodes", names}}); !kept) return kept.error();
        double best_us = 0;
        for (int attempt = 0; attempt < kMostAttempts && !out_of_budget(); ++attempt) {
            const auto answer = ask({"write", wanted.id, attempt, *prompt});
            if (!answer) return answer.error();
            ++row.attempts;
            const auto text =
                request_.cuda ? agent::read_cuda(*answer) : agent::read_kernel_text(*answer);
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
                const bool better = best_us == 0 || us < 0.98 * best_us;
                best_us = better ? us : best_us;
                if (good_enough(reply) || !better) break;
            } else if (row.outcome != "accepted") {
                row.outcome = diagnosis(reply).substr(0, 300);
            }
            if (reply.value("unverified", false)) break;  // no text would get further here
            const auto revise = request_.cuda ? revise_cuda_question : revise_question;
            prompt = revise(desk_, wanted, text ? *text : answer->substr(0, 4000), reply);
            if (!prompt) return prompt.error();
        }
        row.time_us = best_us;
        row.use = by_set_[wanted.id];
        done_.accepted += row.accepted();
        progress_.step(
            fmt::format("{}: {}", row.id, row.outcome.substr(0, row.outcome.find('\n'))));
        done_.rows.push_back(std::move(row));
        return Ok{};
    }

    using Clock = std::chrono::steady_clock;

    Desk& desk_;
    agent::Provider& provider_;
    const AgentRequest& request_;
    report::Agent done_;
    std::map<std::string, report::AgentUse> by_set_;
    Progress progress_{"agent", 0};
    double total_us_ = 0;
    std::string last_failure_;
    Clock::time_point started_ = Clock::now();
};

}  // namespace

Result<> check_agent(const AgentRequest& request) {
    const auto [kind, name] = halves(request.provider);
    if (kind == "rules" && name.empty()) return Ok{};
    const std::set<std::string> known{"command", "replay", "openai", "anthropic"};
    if (!known.contains(kind) || name.empty())
        return Error{fmt::format("--agent {} names no agent", request.provider),
                     "it is rules, openai:MODEL, anthropic:MODEL, command:PROGRAM or replay:FILE",
                     true};
    if (kind == "replay")
        if (const auto read = agent::read_transcript(name); !read) return read.error();
    return Ok{};
}

Result<report::Agent> agent_stage(const RunFolder& run, const AgentRequest& request) {
    if (request.provider == "rules") return report::Agent{};
    auto desk = open_desk(run);
    if (!desk) return desk.error();
    const auto provider = make_provider(desk->environment, request.provider);
    if (!provider) return provider.error();
    return Loop(*desk, **provider, request).run();
}

}  // namespace fact::driver

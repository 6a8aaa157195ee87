// Puts questions to a provider within a budget: each is counted in the report and appended to the
// run's transcript.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "agent/provider.h"
#include "driver/agent_stage.h"
#include "driver/environment.h"

namespace fact::driver {

class Interview {
  public:
    // `counted` is the report in which questions are counted; it must outlive the interview.
    static Result<Interview> begin(const Environment& environment, const RunFolder& run,
                                   const AgentRequest& request, report::Agent& counted);

    // Whether the budget is spent, or too little is left to ask `prompt`; if so, the report notes
    // why nothing more was asked. What earlier stages used counts too.
    bool out_of_budget(const std::string& prompt = {});

    // The answer, "" if there is none; an Error only for a failing disk or an interruption.
    Result<std::string> ask(agent::Question question);

    // Why the last question without an answer had none.
    const std::string& last_failure() const { return last_failure_; }
    // What the questions about a set of operators have used; `about` is the id of its proposal.
    const report::AgentUse& used_for(const std::string& about) { return by_set_[about]; }

  private:
    using Clock = std::chrono::steady_clock;

    Interview(const RunFolder& run, const AgentRequest& request,
              std::unique_ptr<agent::Provider> provider, report::Agent& counted)
        : run_(run), request_(request), provider_(std::move(provider)), counted_(counted) {}

    double elapsed() const;  // seconds, earlier stages included

    void count(const agent::Exchange& exchange);

    RunFolder run_;
    AgentRequest request_;
    std::unique_ptr<agent::Provider> provider_;
    report::Agent& counted_;
    std::map<std::string, report::AgentUse> by_set_;
    std::string last_failure_;
    Clock::time_point started_ = Clock::now();
    double before_ = counted_.elapsed;  // seconds of earlier stages
};

}  // namespace fact::driver

#include "report/agent.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fact::report {
namespace {

Agent asked_example() {
    Agent agent;
    agent.provider = "command:answers";
    agent.stage("find") += {1, 0, 1000, 100, 2};
    agent.stage("write") += {2, 1, 4000, 200, 3};
    agent.stage("revise") += {1, 0, 2500, 100, 1};
    agent.retries = 1;
    agent.named = 2;
    agent.refused = 1;
    agent.accepted = 1;
    agent.stopped = "4 calls were made";
    AgentRow row{"a_01", "model.py:7", "accepted"};
    row.operators = 3;
    row.texts = {{false, 0, 900}, {true, 12.5, 1100}};
    row.first_compiled = true;
    row.bound_us = 10;
    row.use = {3, 1, 6500, 300, 4};
    agent.rows = {row, {"tanh nope", "the graph", "there is no operator 'nope'"}};
    agent.rows[1].operators = 2;
    return agent;
}

TEST(AgentReport, ByStageAndBySet) {
    auto agent = asked_example();
    agent.rows[0].composed = true;
    EXPECT_EQ(to_text(agent), R"(the model (command:answers):
  stage   calls  failed  tokens in  out  waiting
  ------  -----  ------  ---------  ---  -------
  find        1       0       1000  100      2 s
  write       2       1       4000  200      3 s
  revise      1       0       2500  100      1 s
  all         4       1       7500  400      6 s
  sets of operators named 2, refused 1; kernels accepted 1, of them verified on the GPU 0, in the package 1; first texts that compiled 1, retries 1
  stopped: 4 calls were made
  set of operators  operators  source      texts  calls  failed  tokens in  out  waiting  time    bound  result
  ----------------  ---------  ----------  -----  -----  ------  ---------  ---  -------  ----  -------  ---------------------------
  a_01                      3  model.py:7      2      3       1       6500  300      4 s     -  10.0 us  accepted, in the package
  tanh nope                 2  the graph       0      0       0          0    0      0 s     -        -  there is no operator 'nope'
)");
    EXPECT_EQ(to_text(Agent{}), "");
}

TEST(AgentReport, MoneyOnlyWherePricesAreGiven) {
    auto agent = asked_example();
    auto json = json_of(agent);
    EXPECT_TRUE(json["dollars"].is_null());
    EXPECT_TRUE(json["stages"][0]["dollars"].is_null());
    EXPECT_EQ(to_text(agent).find('$'), std::string::npos);
    agent.price = {2, 10};
    json = json_of(agent);
    EXPECT_DOUBLE_EQ(json["dollars"].get<double>(), 0.019);
    EXPECT_DOUBLE_EQ(json["stages"][2]["dollars"].get<double>(), 0.006);
    EXPECT_DOUBLE_EQ(json["proposals"][0]["dollars"].get<double>(), 0.016);
    EXPECT_NE(to_text(agent).find("$0.0190\n"), std::string::npos);
    EXPECT_EQ(dollars_text(0), "$0");
    EXPECT_EQ(dollars_text(1234.5), "$1234.50");
}

TEST(AgentReport, WhatWasNotMeasuredIsAbsent) {
    auto agent = asked_example();
    auto json = json_of(agent);
    EXPECT_TRUE(json["brought"].is_null());
    EXPECT_TRUE(json["proposals"][0]["time_us"].is_null());
    EXPECT_EQ(to_text(agent).find("beyond the rules"), std::string::npos);
    agent.brought = {{200, 199, 201, 9}, {120, 119, 121, 9}, {150, 149, 151, 9}};
    json = json_of(agent);
    EXPECT_DOUBLE_EQ(json["brought"]["saved_us"].get<double>(), 30);
    EXPECT_DOUBLE_EQ(json["brought"]["share_of_eager"].get<double>(), 0.15);
    EXPECT_NE(to_text(agent).find("beyond the rules: 15.0 % of eager's time (120 us with the "
                                  "model's kernels, 150 us with the rules' alone, eager 200 "
                                  "us)"),
              std::string::npos);
}

}  // namespace
}  // namespace fact::report

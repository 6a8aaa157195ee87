#include "match/text/cost.h"

#include <gtest/gtest.h>

#include <regex>

#include "dsl/dsl.h"
#include "graphs.h"
#include "match/operators/pointwise.h"
#include "match/operators/rowwise.h"
#include "sol/work.h"
#include "support/files.h"

namespace fact::match {
namespace {

// The operators a kernel can compute are listed where they are translated, what they are in
// graph/operators: what is added to the one must be known to the other.
TEST(Cost, EveryOperatorOfAKernelHasItsWork) {
    static const std::regex target("\"(aten\\.[A-Za-z0-9_]+\\.[A-Za-z0-9_]+)\"");
    int checked = 0;
    for (const char* file : {"pointwise.cpp", "rowwise.cpp"}) {
        const auto text = read_file(std::string(FACT_SOURCE_DIR) + "/src/match/operators/" + file);
        ASSERT_TRUE(text.ok());
        for (std::sregex_iterator it(text->begin(), text->end(), target), end; it != end; ++it) {
            graph::Node node;
            node.target = (*it)[1];
            node.outputs = {graph::ValueId{0}};
            if (!find_pointwise(node) && !find_rowwise(node)) continue;
            const auto facts = graph::facts_of(node);
            EXPECT_NE(facts.kind, graph::OperatorKind::unknown) << node.target;
            EXPECT_EQ(facts.along != graph::Along::nothing, find_rowwise(node) != nullptr)
                << node.target;
            ++checked;
        }
    }
    EXPECT_GT(checked, 80);
}

// relu(x @ w.T) of 16 x 8 by 8 x 8: a launch each for the operators, one for the kernel.
TEST(Cost, FusingSmallOperatorsSavesTheirLaunches) {
    testing::Net net;
    const auto x = net.input("x", {16, 8}), w = net.weight("w", {8, 8});
    net.output(net.pointwise("y", "relu.default", net.linear("p", x, w)));
    Options options;
    options.ceilings = *find_gpu("h200");
    options.ceilings->launch_us = 3;
    const auto found = discover(net.graph, options);
    ASSERT_EQ(found.patterns.size(), 1u);
    const Cost& cost = found.patterns.front().cost;
    EXPECT_EQ(cost.flops, 2 * 16 * 8 * 8);
    EXPECT_EQ(cost.bytes, 2 * (16 * 8 + 8 * 8 + 16 * 8));
    EXPECT_EQ(cost.unfused_bytes, cost.bytes + 2 * 2 * 16 * 8);
    EXPECT_EQ(cost.unfused_us, 6);
    EXPECT_EQ(cost.bound_us, 3);
    EXPECT_EQ(found.patterns.front().priority, 3);
}

TEST(Cost, WhatFollowsFromWeightsIsNoWorkOfACall) {
    Diagnostics diagnostics;
    const auto program = dsl::compile(R"(
kernel scaled_linear(x: bf16[M, K], g: bf16[K], w: bf16[N, K]) -> (y: bf16[M, N]) {
  y = x @ bf16(w * g).T
}
kernel linear(x: bf16[M, K], g: bf16[K], w: bf16[N, K]) -> (y: bf16[M, N]) {
  y = x @ w.T + sum(g, over: K)
}
)",
                                      diagnostics);
    ASSERT_TRUE(program);
    const auto gpu = find_gpu("h200");
    ASSERT_TRUE(gpu);
    const auto expected = [&](std::size_t kernel, bool g, bool w) {
        WrittenKernel written{
            program->kernels[kernel], {{"M", 128}, {"N", 4096}, {"K", 4096}}, {}, {}};
        for (const auto& [tensor, constant] : {std::pair{"x", false}, {"g", g}, {"w", w}}) {
            written.params.push_back({tensor, tensor, {}});
            written.params.back().constant = constant;
        }
        const auto us = staged_us(written, {}, *gpu);
        EXPECT_TRUE(us.ok());
        return us.ok() ? *us : 0.0;
    };
    // Scaling reads and writes as much as the product reads.
    EXPECT_GT(expected(0, false, true), 2.5 * expected(0, true, true));
    EXPECT_EQ(expected(0, false, true), expected(0, true, false));
    EXPECT_GT(expected(1, false, true), expected(1, true, true));
    EXPECT_EQ(expected(1, true, true), expected(1, true, false));
}

}  // namespace
}  // namespace fact::match

// One wide linear that is cut in two and gated: two products of one matrix, whose weights are
// halves of one tensor.
#include "match/regions/packed.h"

#include <gtest/gtest.h>

#include "graph/arguments.h"
#include "graphs.h"

namespace fact::match {
namespace {

using graph::Half;
using graph::ValueId;
using testing::ids;
using testing::Names;
using testing::Net;
using testing::Sizes;

constexpr std::int64_t kPackedB = 2, kPackedT = 64, kPackedN = 96, kPackedK = 128;

struct Packed : Net {
    ValueId wide(bool bias = false) {
        const auto x = input("x", {kPackedB, kPackedT, kPackedK}),
                   w = weight("w", {2 * kPackedN, kPackedK});
        if (!bias) return linear("wide", x, w);
        return op("wide", "linear.default",
                  {{"input", x}, {"weight", w}, {"bias", weight("b", {2 * kPackedN})}},
                  {kPackedB, kPackedT, 2 * kPackedN});
    }
    ValueId slice(const std::string& name, ValueId from, std::int64_t start, std::int64_t end,
                  std::int64_t step = 1) {
        return op(name, "slice.Tensor",
                  {{"self", from},
                   {"dim", std::int64_t{2}},
                   {"start", start},
                   {"end", end},
                   {"step", step}},
                  {kPackedB, kPackedT, (end - start + step - 1) / step},
                  {kPackedT * 2 * kPackedN, 2 * kPackedN, step});
    }
    // up * silu(gate)
    ValueId gated(ValueId gate, ValueId up) {
        const Sizes sizes = graph[gate].type->sizes;
        const auto act = op("act", "silu.default", {{"self", gate}}, sizes);
        return op("gated", "mul.Tensor", {{"self", up}, {"other", act}}, sizes);
    }
    ValueId chunked(ValueId whole) {
        const auto gate =
            op("gate", "chunk.default",
               {{"self", whole}, {"chunks", std::int64_t{2}}, {"dim", std::int64_t{-1}}},
               {kPackedB, kPackedT, kPackedN}, {kPackedT * 2 * kPackedN, 2 * kPackedN, 1});
        return gated(gate, also(gate, "up", {kPackedB, kPackedT, kPackedN}));
    }
};

TEST(Packed, AChunkedGateIsThePairOfProducts) {
    Packed net;
    net.output(net.chunked(net.wide()));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"p00_linear_silu_mul"});
    const Pattern& p = found.patterns[0];
    EXPECT_EQ(p.nodes, (Names{"wide", "gate", "act", "gated"}));
    EXPECT_EQ(
        p.kernel,
        R"(kernel linear_silu_mul(x: bf16[M, K], w: bf16[N, K], w2: bf16[N, K]) -> (y: bf16[M, N]) {
  acc  = x @ w.T
  acc2 = x @ w2.T
  y    = acc2 * silu(acc)
}
)");
    EXPECT_EQ(p.inputs, (Names{"x", "w"}));
    EXPECT_EQ(p.extents.at("N"), kPackedN);
    EXPECT_EQ(p.params[0].half, std::nullopt);
    EXPECT_EQ(p.params[1].value, "w");
    EXPECT_EQ(p.params[1].half, (Half{0, 0, false}));
    EXPECT_EQ(p.params[2].value, "w");
    EXPECT_EQ(p.params[2].half, (Half{0, 1, false}));
    EXPECT_TRUE(found.left_alone.empty());
    // Both halves of the weight are read, and both products computed.
    EXPECT_EQ(p.cost.flops, 2.0 * kPackedB * kPackedT * 2 * kPackedN * kPackedK);
    EXPECT_EQ(p.cost.bytes, 2.0 * (kPackedB * kPackedT * kPackedK + 2 * kPackedN * kPackedK +
                                   kPackedB * kPackedT * kPackedN));
}

TEST(Packed, ABiasIsCutAsTheWeightIs) {
    Packed net;
    net.output(net.chunked(net.wide(true)));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"p00_linear_bias_silu_mul"});
    const Pattern& p = found.patterns[0];
    EXPECT_NE(p.kernel.find("y    = (acc2 + bias2) * silu(acc + bias)\n"), std::string::npos)
        << p.kernel;
    ASSERT_EQ(p.params.size(), 5u);
    for (const auto& param : p.params) {
        if (param.tensor == "x") continue;
        const bool second = param.tensor == "w2" || param.tensor == "bias2";
        EXPECT_EQ(param.half, (Half{0, second ? 1 : 0, false})) << param.tensor;
    }
}

TEST(Packed, SlicesAndEveryOtherColumnAreHalves) {
    for (const bool stepped : {false, true}) {
        Packed net;
        const auto y = net.wide();
        const auto gate =
            stepped ? net.slice("gate", y, 0, 2 * kPackedN, 2) : net.slice("gate", y, 0, kPackedN);
        const auto up = stepped ? net.slice("up", y, 1, 2 * kPackedN, 2)
                                : net.slice("up", y, kPackedN, 2 * kPackedN);
        net.output(net.gated(gate, up));
        const auto found = net.discover();
        ASSERT_EQ(ids(found), Names{"p00_linear_silu_mul"});
        EXPECT_EQ(found.patterns[0].params[2].half, (Half{0, 1, stepped}));
        EXPECT_EQ(found.patterns[0].params[2].alignment, 16);
    }
}

TEST(Packed, GluCutsAndGatesAtOnce) {
    Packed net;
    const auto y = net.op("glu", "glu.default", {{"self", net.wide()}, {"dim", std::int64_t{-1}}},
                          {kPackedB, kPackedT, kPackedN});
    net.output(net.pointwise("scaled", "mul.Tensor", y, 0.5));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"p00_linear_glu_scale"});
    EXPECT_NE(found.patterns[0].kernel.find("y    = acc * sigmoid(acc2) * 0.5\n"),
              std::string::npos)
        << found.patterns[0].kernel;
}

// The second half of an odd weight starts at an odd element.
TEST(Packed, AHalfIsAlignedAsItsStartIs) {
    Packed net;
    const auto x = net.input("x", {kPackedT, 20}), w = net.weight("w", {6, 20});
    const auto y = net.linear("wide", x, w);
    net.output(
        net.op("glu", "glu.default", {{"self", y}, {"dim", std::int64_t{1}}}, {kPackedT, 3}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].params[1].alignment, 8);
    EXPECT_EQ(found.patterns[0].params[2].alignment, 8);
}

// The patterns with a product.
Names products(const Discovery& found) {
    Names names = ids(found);
    std::erase_if(names, [](const std::string& id) { return !id.starts_with('p'); });
    return names;
}

TEST(Packed, AHalfThatOthersReadIsNotTaken) {
    Packed net;
    const auto y = net.wide();
    const auto gate = net.slice("gate", y, 0, kPackedN),
               up = net.slice("up", y, kPackedN, 2 * kPackedN);
    net.output(net.gated(gate, up));
    net.output(up);
    EXPECT_EQ(products(net.discover()), Names{"p00_linear"});
}

TEST(Packed, TheSecondHalfOfAChunkIsNoResultBesideTheGate) {
    Packed net;
    net.output(net.chunked(net.wide()));
    for (std::size_t i = 0; i < net.graph.values.size(); ++i)
        if (net.graph.values[i].name == "up") net.output(static_cast<ValueId>(i));
    EXPECT_EQ(products(net.discover()), Names{"p00_linear"});
}

TEST(Packed, OneHalfAloneIsNoPair) {
    Packed net;
    const auto gate = net.slice("gate", net.wide(), 0, kPackedN);
    net.slice("up", *graph::tensor_argument(net.graph[*net.graph[gate].producer], "self"), kPackedN,
              2 * kPackedN);
    net.output(net.op("act", "silu.default", {{"self", gate}}, {kPackedB, kPackedT, kPackedN}));
    EXPECT_EQ(products(net.discover()), Names{"p00_linear"});
}

TEST(Packed, AWholeThatOthersReadIsNotTaken) {
    Packed net;
    const auto y = net.wide();
    net.output(net.chunked(y));
    net.output(y);
    EXPECT_EQ(products(net.discover()), Names{"p00_linear"});
}

TEST(Packed, F32HasNoPairOfProducts) {
    Packed net;
    net.dtype = DType::f32;
    net.output(net.chunked(net.wide()));
    EXPECT_EQ(products(net.discover()), Names{"p00_linear"});
}

TEST(Packed, HalvesSurviveBeingWritten) {
    Packed net;
    net.output(net.chunked(net.wide(true)));
    const auto found = net.discover();
    const auto read = discovery_from_json(to_json(found));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->patterns.at(0).params, found.patterns.at(0).params);
}

}  // namespace
}  // namespace fact::match

#include "verify/shrink.h"

#include <gtest/gtest.h>

#include "graph/arguments.h"
#include "small_graphs.h"

namespace fact::verify {
namespace {

using graph::FusedCall;
using graph::Graph;
using Sizes = std::vector<std::int64_t>;

// linear over [batch, token, channel], its bias, and a residual.
FusedCall linear_call() {
    FusedCall call;
    auto& g = call.original;
    const auto x = add_input(g, "x", dense(DType::f32, {128, 512, 768}));
    const auto w = add_input(g, "w", dense(DType::f32, {3072, 768}));
    const auto b = add_input(g, "b", dense(DType::f32, {3072}));
    const auto r = add_input(g, "r", dense(DType::f32, {128, 512, 3072}));
    const auto y = add_node(g, "aten.linear.default", {{"input", x}, {"weight", w}, {"bias", b}},
                            dense(DType::f32, {128, 512, 3072}));
    const auto z = add_node(g, "aten.add.Tensor", {{"self", y}, {"other", r}},
                            dense(DType::f32, {128, 512, 3072}));
    add_output(g, z);
    return call;
}

// What a norm normalises keeps its extent, weight included; a batch norm's channels shrink with
// theirs.
TEST(Shrink, WeightsOfNormsFollowTheirInput) {
    for (const bool layer : {true, false}) {
        FusedCall call;
        auto& g = call.original;
        const auto x = add_input(g, "x", dense(DType::f32, {4096, 1024}));
        const auto w = add_input(g, "w", dense(DType::f32, {512, 1024}));
        const auto scale = add_input(g, "scale", dense(DType::f32, {512}));
        const auto y = add_node(g, "aten.linear.default", {{"input", x}, {"weight", w}},
                                dense(DType::f32, {4096, 512}));
        const auto z =
            layer ? add_node(g, "aten.layer_norm.default",
                             {{"input", y}, {"normalized_shape", Sizes{512}}, {"weight", scale}},
                             dense(DType::f32, {4096, 512}))
                  : add_node(g, "aten._native_batch_norm_legit.no_stats",
                             {{"input", y}, {"weight", scale}, {"training", true}},
                             dense(DType::f32, {4096, 512}));
        add_output(g, z);
        const auto shrunk = shrink(call, {}, 1e6);
        ASSERT_TRUE(shrunk.has_value());
        const auto& small = shrunk->call.original;
        const auto channels = type_of(small, "w").sizes[0];
        EXPECT_EQ(type_of(small, "scale").sizes, (Sizes{channels}));
        EXPECT_EQ(channels == 512, layer);
        EXPECT_LT(type_of(small, "x").sizes[0], 4096);
    }
}

TEST(Shrink, SmallCallsStay) {
    EXPECT_FALSE(shrink(linear_call(), {}, 1e30).has_value());
}

TEST(Shrink, EveryValueFollows) {
    const auto call = linear_call();
    const auto shrunk = shrink(call, {}, 2e7);
    ASSERT_TRUE(shrunk.has_value());
    const auto& g = shrunk->call.original;
    EXPECT_LE(work(g), 2e7);
    const auto x = type_of(g, "x").sizes, w = type_of(g, "w").sizes, r = type_of(g, "r").sizes;
    EXPECT_EQ(x[2], w[1]);
    EXPECT_EQ(r, (Sizes{x[0], x[1], w[0]}));
    EXPECT_EQ(type_of(g, "b").sizes, (Sizes{w[0]}));
    EXPECT_EQ(type_of(g, "n1").sizes, r);
    EXPECT_EQ(type_of(g, "x").strides, (Sizes{x[1] * x[2], x[2], 1}));
    for (const auto extent : {x[0], x[1], x[2], w[0]}) EXPECT_GE(extent, 2);
}

TEST(Shrink, ExtentsTheTextFixesStay) {
    auto call = linear_call();
    call.params = {{"x", "x", {{0, 1}, {2}}, false}};
    ir::Kernel kernel;
    kernel.dims = {{"M", std::nullopt}, {"768", 768}};
    ir::Tensor x;
    x.name = "x";
    x.type.dims = {static_cast<ir::DimId>(0), static_cast<ir::DimId>(1)};
    kernel.params = {x};
    const auto shrunk = shrink(call, kernel, 2e7);
    ASSERT_TRUE(shrunk.has_value());
    EXPECT_EQ(type_of(shrunk->call.original, "x").sizes[2], 768);
    EXPECT_EQ(type_of(shrunk->call.original, "w").sizes[1], 768);
    EXPECT_LT(type_of(shrunk->call.original, "x").sizes[0], 128);
}

TEST(Shrink, FollowsViewsThatMergeAndSplit) {
    FusedCall call;
    auto& g = call.original;
    const auto x = add_input(g, "x", dense(DType::f32, {64, 128, 96}));
    const auto w = add_input(g, "w", dense(DType::f32, {96, 128}));
    const auto flat = add_node(g, "aten.view.default", {{"self", x}, {"size", Sizes{8192, 96}}},
                               dense(DType::f32, {8192, 96}));
    const auto y = add_node(g, "aten.mm.default", {{"self", flat}, {"mat2", w}},
                            dense(DType::f32, {8192, 128}));
    const auto back =
        add_node(g, "aten.view.default", {{"self", y}, {"size", Sizes{64, 128, 4, 32}}},
                 dense(DType::f32, {64, 128, 4, 32}));
    const auto turned = add_node(
        g, "aten.permute.default", {{"self", back}, {"dims", Sizes{0, 2, 1, 3}}},
        graph::TensorType{DType::f32, {64, 4, 128, 32}, {16384, 32, 128, 1}, 0, false, "cpu"});
    add_output(g, turned);

    const auto shrunk = shrink(call, {}, 1e6);
    ASSERT_TRUE(shrunk.has_value());
    const auto& s = shrunk->call.original;
    const auto batch = type_of(s, "x").sizes[0];
    EXPECT_LT(batch, 64);
    // Tokens and channels inside the merged and split dimensions cannot change on their own.
    EXPECT_EQ(type_of(s, "x").sizes[1], 128);
    EXPECT_EQ(type_of(s, "n0").sizes[0], batch * 128);
    const auto heads = type_of(s, "n2").sizes[2];
    EXPECT_EQ(type_of(s, "n1").sizes, (Sizes{batch * 128, heads * 32}));
    EXPECT_EQ(type_of(s, "w").sizes[1], heads * 32);
    EXPECT_EQ(std::get<Sizes>(*graph::find_argument(s.nodes[0], "size")), type_of(s, "n0").sizes);
    EXPECT_EQ(std::get<Sizes>(*graph::find_argument(s.nodes[2], "size")), type_of(s, "n2").sizes);
    // A dense, permuted result stays dense and permuted.
    EXPECT_EQ(type_of(s, "n3").strides, (Sizes{128 * heads * 32, 32, heads * 32, 1}));
}

// The first rows and columns of a mask may be fewer, the mask itself stays; what is cut out of the
// middle stays too.
TEST(Shrink, OnlyTheFirstOfASliceMayBeFewer) {
    for (const std::int64_t start : {0, 256}) {
        FusedCall call;
        auto& g = call.original;
        const auto q = add_input(g, "q", dense(DType::f32, {64, 512, 96}));
        const auto k = add_input(g, "k", dense(DType::f32, {64, 96, 512}));
        const auto mask = add_input(g, "mask", dense(DType::f32, {1024, 1024}));
        const auto slice = [&](graph::ValueId of, std::int64_t dim, const graph::TensorType& type) {
            return add_node(g, "aten.slice.Tensor",
                            {{"self", of}, {"dim", dim}, {"start", start}, {"end", start + 512}},
                            type);
        };
        const auto rows = slice(mask, 0, dense(DType::f32, {512, 1024}));
        const auto part =
            slice(rows, 1, graph::TensorType{DType::f32, {512, 512}, {1024, 1}, 0, false, "cpu"});
        const auto scores = add_node(g, "aten.matmul.default", {{"self", q}, {"other", k}},
                                     dense(DType::f32, {64, 512, 512}));
        add_output(g, add_node(g, "aten.mul.Tensor", {{"self", scores}, {"other", part}},
                               dense(DType::f32, {64, 512, 512})));
        const auto shrunk = shrink(call, {}, 1e6);
        ASSERT_TRUE(shrunk.has_value());
        const Graph& small = shrunk->call.original;
        EXPECT_EQ(type_of(small, "mask").sizes, (Sizes{1024, 1024}));
        EXPECT_LT(type_of(small, "q").sizes[0], 64);
        EXPECT_EQ(type_of(small, "q").sizes[0], type_of(small, "k").sizes[0]);
        const auto tokens = type_of(small, "q").sizes[1], keys = type_of(small, "k").sizes[2];
        if (start == 0) {
            EXPECT_LT(tokens, 512);
            EXPECT_LT(keys, 512);
        } else {
            EXPECT_EQ(tokens, 512);
            EXPECT_EQ(keys, 512);
        }
        EXPECT_EQ(graph::int_argument(small.nodes[0], "end"), start + tokens);
        EXPECT_EQ(graph::int_argument(small.nodes[1], "end"), start + keys);
    }
}

// Rotary embeddings put a half before the other: tokens may be fewer, features not.
TEST(Shrink, WhatIsPutTogetherKeepsItsOtherDimensions) {
    for (const bool stacked : {false, true}) {
        FusedCall call;
        auto& g = call.original;
        const auto x = add_input(g, "x", dense(DType::f32, {4, 2048, 64}));
        const auto y = add_input(g, "y", dense(DType::f32, {4, 2048, stacked ? 64 : 32}));
        const auto joined =
            add_node(g, stacked ? "aten.stack.default" : "aten.cat.default",
                     {{"tensors", std::vector{x, y}}, {"dim", std::int64_t{2}}},
                     dense(DType::f32, stacked ? Sizes{4, 2048, 2, 64} : Sizes{4, 2048, 96}));
        add_output(g, joined);
        const auto shrunk = shrink(call, {}, 1e5);
        ASSERT_TRUE(shrunk.has_value());
        const Graph& small = shrunk->call.original;
        const auto tokens = type_of(small, "x").sizes[1];
        EXPECT_LT(tokens, 2048);
        EXPECT_EQ(type_of(small, "y").sizes[1], tokens);
        if (stacked) {
            const auto features = type_of(small, "x").sizes[2];
            EXPECT_EQ(type_of(small, "n0").sizes, (Sizes{4, tokens, 2, features}));
        } else {
            EXPECT_EQ(type_of(small, "x").sizes[2], 64);
            EXPECT_EQ(type_of(small, "n0").sizes, (Sizes{4, tokens, 96}));
        }
    }
}

// Of every row a number, and of all rows one: rows may be fewer.
TEST(Shrink, LossesOfFewerRows) {
    FusedCall call;
    auto& g = call.original;
    const auto rows = [](Sizes sizes) { return dense(DType::f32, std::move(sizes)); };
    const auto x = add_input(g, "x", rows({4096, 1000}));
    const auto labels = add_input(g, "labels", dense(DType::i64, {4096}));
    const auto at =
        add_node(g, "aten.unsqueeze.default", {{"self", labels}, {"dim", std::int64_t{1}}},
                 dense(DType::i64, {4096, 1}));
    const auto picked =
        add_node(g, "aten.gather.default", {{"self", x}, {"dim", std::int64_t{1}}, {"index", at}},
                 rows({4096, 1}));
    const auto column =
        add_node(g, "aten.squeeze.dim", {{"self", picked}, {"dim", std::int64_t{1}}}, rows({4096}));
    const auto norm = add_node(g, "aten.linalg_vector_norm.default",
                               {{"self", x}, {"ord", 2.0}, {"dim", Sizes{1}}}, rows({4096}));
    const auto first =
        add_node(g, "aten.select.int",
                 {{"self", x}, {"dim", std::int64_t{1}}, {"index", std::int64_t{0}}}, rows({4096}));
    const auto loss =
        add_node(g, "aten.cross_entropy_loss.default", {{"self", x}, {"target", labels}}, rows({}));
    const auto apart =
        add_node(g, "aten.mse_loss.default", {{"self", column}, {"target", norm}}, rows({}));
    const auto mean = add_node(g, "aten.mean.default", {{"self", first}}, rows({}));
    for (const auto value : {loss, apart, mean}) add_output(g, value);
    const auto shrunk = shrink(call, {}, 1e5);
    ASSERT_TRUE(shrunk.has_value());
    const Graph& small = shrunk->call.original;
    const auto count = type_of(small, "x").sizes[0];
    EXPECT_LT(count, 4096);
    EXPECT_EQ(type_of(small, "x").sizes[1], 1000) << "classes have numbers";
    EXPECT_EQ(type_of(small, "labels").sizes, (Sizes{count}));
    EXPECT_EQ(type_of(small, "n1").sizes, (Sizes{count, 1}));
    for (const auto* name : {"n2", "n3", "n4"})
        EXPECT_EQ(type_of(small, name).sizes, (Sizes{count}));
}

// The mask of packed sequences as models write it: where positions do not go on, another begins.
TEST(Shrink, RangesThatNamePlacesFollowWhatTheyLookInto) {
    FusedCall call;
    auto& g = call.original;
    const auto i64 = [](Sizes sizes) { return dense(DType::i64, std::move(sizes)); };
    const auto positions = add_input(g, "positions", i64({8, 1024}));
    const auto first = add_node(g, "aten.slice.Tensor",
                                {{"self", positions},
                                 {"dim", std::int64_t{1}},
                                 {"start", std::int64_t{0}},
                                 {"end", std::int64_t{1}}},
                                i64({8, 1}));
    const auto steps = add_node(g, "aten.diff.default",
                                {{"self", positions}, {"dim", std::int64_t{1}}, {"prepend", first}},
                                i64({8, 1024}));
    const auto batch = add_input(g, "batch", i64({8, 1, 1})),
               rows = add_input(g, "rows", i64({1024, 1}));
    const auto found = add_node(
        g, "aten.index.Tensor",
        {{"self", steps}, {"indices", std::vector<std::optional<graph::ValueId>>{batch, rows}}},
        i64({8, 1024, 1}));
    const auto one =
        add_node(g, "aten.new_ones.default", {{"self", rows}, {"size", Sizes{}}}, i64({}));
    add_output(
        g, add_node(g, "aten.mul.Tensor", {{"self", found}, {"other", one}}, i64({8, 1024, 1})));
    const auto shrunk = shrink(call, {}, 1e4);
    ASSERT_TRUE(shrunk.has_value());
    const Graph& small = shrunk->call.original;
    const auto sizes = type_of(small, "positions").sizes;
    EXPECT_LT(sizes[1], 1024);
    EXPECT_EQ(type_of(small, "n0").sizes, (Sizes{sizes[0], 1}));
    EXPECT_EQ(type_of(small, "n1").sizes, sizes);
    EXPECT_EQ(type_of(small, "rows").sizes, (Sizes{sizes[1], 1}));
    EXPECT_EQ(type_of(small, "batch").sizes, (Sizes{sizes[0], 1, 1}));
    EXPECT_EQ(type_of(small, "n2").sizes, (Sizes{sizes[0], sizes[1], 1}));
}

TEST(Shrink, GivesUpWhereNothingIsKnown) {
    FusedCall call;
    auto& g = call.original;
    const auto x = add_input(g, "x", dense(DType::f32, {4096, 4096}));
    add_output(g,
               add_node(g, "mylib.roll.default", {{"self", x}}, dense(DType::f32, {4096, 2048})));
    EXPECT_FALSE(shrink(call, {}, 1e5).has_value());
}

// What the text gives one name stays equal, and heads that share keys stay as many times theirs.
TEST(Shrink, AttentionFollowsItsText) {
    FusedCall call;
    auto& g = call.original;
    const auto q = add_input(g, "q", dense(DType::bf16, {4, 32, 2048, 128}));
    const auto k = add_input(g, "k", dense(DType::bf16, {4, 8, 2048, 128}));
    const auto v = add_input(g, "v", dense(DType::bf16, {4, 8, 2048, 128}));
    const auto y = add_node(g, "aten.scaled_dot_product_attention.default",
                            {{"query", q}, {"key", k}, {"value", v}, {"enable_gqa", true}},
                            dense(DType::bf16, {4, 32, 2048, 128}));
    add_output(g, y);
    ir::Kernel kernel;
    const ir::DimId b = kernel.dim("B"), heads = kernel.dim("G"), times = kernel.dim("4");
    const ir::DimId m = kernel.dim("M"), n = kernel.dim("N"), d = kernel.dim("D");
    const ir::DimId all = kernel.factored_dim({heads, times});
    kernel.params = {{"q", {DType::bf16, {b, all, m, d}}, {}},
                     {"k", {DType::bf16, {b, heads, n, d}}, {}},
                     {"v", {DType::bf16, {b, heads, n, d}}, {}}};
    for (const char* name : {"q", "k", "v"})
        call.params.push_back({name, name, {{0}, {1}, {2}, {3}}, false});
    const auto shrunk = shrink(call, kernel, 1e6);
    ASSERT_TRUE(shrunk.has_value());
    const auto& small = shrunk->call.original;
    EXPECT_LE(work(small), 1e6);
    const Sizes queries = type_of(small, "q").sizes, keys = type_of(small, "k").sizes;
    EXPECT_EQ(queries[1], 4 * keys[1]);
    EXPECT_EQ(queries[3], 128);  // the scale follows from it
    EXPECT_EQ(type_of(small, "v").sizes, keys);
    EXPECT_EQ(keys[3], 128);
}

// A mask's rows and columns change with those of the scores; what it is broadcast along stays one.
TEST(Shrink, AMaskFollowsTheScores) {
    FusedCall call;
    auto& g = call.original;
    const auto q = add_input(g, "q", dense(DType::bf16, {32, 12, 384, 64}));
    const auto k = add_input(g, "k", dense(DType::bf16, {32, 12, 512, 64}));
    const auto v = add_input(g, "v", dense(DType::bf16, {32, 12, 512, 64}));
    const auto mask = add_input(g, "mask", dense(DType::bf16, {32, 1, 384, 512}));
    const auto y = add_node(g, "aten.scaled_dot_product_attention.default",
                            {{"query", q}, {"key", k}, {"value", v}, {"attn_mask", mask}},
                            dense(DType::bf16, {32, 12, 384, 64}));
    add_output(g, y);
    const auto shrunk = shrink(call, {}, 1e6);
    ASSERT_TRUE(shrunk.has_value());
    const auto& small = shrunk->call.original;
    EXPECT_LE(work(small), 1e6);
    const Sizes queries = type_of(small, "q").sizes, keys = type_of(small, "k").sizes;
    EXPECT_EQ(type_of(small, "mask").sizes, (Sizes{queries[0], 1, queries[2], keys[2]}));
    EXPECT_EQ(queries[3], 64);
}

}  // namespace
}  // namespace fact::verify

// Batches of any number of dimensions: tensor maps hold three, pointers and strides the rest.
#include <gtest/gtest.h>

#include "../golden.h"
#include "ir/extents.h"
#include "lower/pipeline/lower.h"

namespace fact::lower {
namespace {

using Dims = std::vector<ir::DimId>;

struct Batched {
    ir::Kernel kernel;
    ir::Builder b{kernel};
    std::vector<std::int64_t> extents;

    Dims dims(const std::vector<std::string>& names) {
        Dims all;
        for (const std::string& name : names) all.push_back(kernel.dim(name));
        return all;
    }
    ir::ExprId param(const std::string& name, DType dtype, const std::vector<std::string>& names) {
        kernel.params.push_back({name, {dtype, dims(names)}, {}});
        return b.param(static_cast<std::uint32_t>(kernel.params.size() - 1));
    }
    void output(ir::ExprId value, DType dtype) {
        kernel.outputs.push_back({{"y", {dtype, kernel[value].type.dims}, {}}, value});
    }
    Lowered lowered() {
        extents.resize(kernel.dims.size(), ir::kUnknownExtent);
        EXPECT_EQ(ir::verify(kernel), "");
        LowerOptions options;
        options.extents = extents;
        const auto result = lower(kernel, options);
        EXPECT_TRUE(result.ok()) << result.error().text();
        const Lowered out = result ? *result : Lowered{};
        EXPECT_EQ(inconsistency(out.record), "");
        const auto again = launch_record_from_json(to_json(out.record));
        EXPECT_TRUE(again.ok());
        EXPECT_TRUE(!again || *again == out.record);
        return out;
    }
};

// The grouped heads of the language's reference.
TEST(Batch, GroupedHeadsAreThreeDimensionsOfATensorMap) {
    Batched t;
    t.kernel.name = "grouped";
    const auto reordered = [&](ir::ExprId x, const std::vector<std::string>& names) {
        return t.b.permute(x, t.dims(names));
    };
    ir::Attention node;
    node.q = reordered(t.param("q", DType::bf16, {"B", "M", "G", "R", "64"}),
                       {"B", "G", "R", "M", "64"});
    node.k = reordered(t.param("k", DType::bf16, {"B", "N", "G", "64"}), {"B", "G", "N", "64"});
    node.v = reordered(t.param("v", DType::bf16, {"B", "N", "G", "E"}), {"B", "G", "N", "E"});
    node.scale = 0.125;
    node.causal = true;
    t.extents.assign(t.kernel.dims.size(), ir::kUnknownExtent);
    t.extents[ir::index(t.kernel.dim("E"))] = 64;
    t.output(reordered(t.b.attention(node), {"B", "M", "G", "R", "E"}), DType::bf16);
    const Lowered lowered = t.lowered();
    expect_golden("grouped.cu", lowered.source);
    expect_golden("grouped.json", to_json(lowered.record));
}

// What reads an attention decides whether its skeleton can store it.
TEST(Batch, AttentionIsStoredRoundedAndReorderedInOneGo) {
    const auto launches = [](auto finish) {
        Batched t;
        t.kernel.name = "heads";
        ir::Attention node;
        node.q = t.param("q", DType::bf16, {"H", "M", "64"});
        node.k = t.param("k", DType::bf16, {"H", "N", "64"});
        node.v = t.param("v", DType::bf16, {"H", "N", "32"});
        finish(t, t.b.attention(node));
        return t.lowered().record.launches.size();
    };
    EXPECT_EQ(launches([](Batched& t, ir::ExprId o) {
                  const auto rounded = t.b.cast(DType::bf16, o);
                  t.output(t.b.permute(rounded, t.dims({"M", "H", "32"})), DType::bf16);
              }),
              1u);
    // Rounded, then read by another kernel.
    EXPECT_EQ(launches([](Batched& t, ir::ExprId o) {
                  const auto heads = t.b.permute(o, t.dims({"M", "H", "32"}));
                  const auto rounded = t.b.cast(DType::bf16, heads);
                  t.output(t.b.unary(ir::UnaryOp::exp, rounded), DType::bf16);
              }),
              2u);
    // Read unrounded, or stored across the features: written out.
    EXPECT_GT(launches([](Batched& t, ir::ExprId o) {
                  t.output(t.b.unary(ir::UnaryOp::exp, o), DType::bf16);
              }),
              2u);
    EXPECT_GT(launches([](Batched& t, ir::ExprId o) {
                  t.output(t.b.permute(o, t.dims({"H", "32", "M"})), DType::bf16);
              }),
              2u);
}

// a has the whole batch, b some of it, and the epilogue looks at a coordinate of the batch.
Batched product(DType dtype, const std::vector<std::string>& batch,
                const std::vector<std::string>& shared) {
    Batched t;
    t.kernel.name = "batched";
    const auto with = [](std::vector<std::string> names, const char* a, const char* c) {
        names.insert(names.end(), {a, c});
        return names;
    };
    const auto a = t.param("a", dtype, with(batch, "M", "K"));
    const auto w = t.param("b", dtype, with(shared, "N", "K"));
    const auto bias = t.param("bias", dtype, {batch.back(), "N"});
    const auto sum = t.b.product(a, t.b.transpose(w));
    const auto first = t.b.binary(ir::BinaryOp::lt, t.b.index(t.kernel.dim(batch.back())),
                                  t.b.literal(1, DType::i32));
    t.output(t.b.select(first, t.b.binary(ir::BinaryOp::add, sum, bias), sum), dtype);
    return t;
}

TEST(Batch, ThreeDimensionsAndAnOperandThatLacksOne) {
    const Lowered lowered = product(DType::bf16, {"B", "G", "R"}, {"B", "G"}).lowered();
    expect_golden("batched.cu", lowered.source);
    expect_golden("batched.json", to_json(lowered.record));
    const Lowered single = product(DType::f32, {"B", "G", "R"}, {"G"}).lowered();
    EXPECT_NE(single.source.find("OperandSourceOf<3> const source"), std::string::npos);
    EXPECT_NE(single.source.find("kBatchA = 0b111, kBatchB = 0b010"), std::string::npos);
}

TEST(Batch, MoreThanATensorMapHoldsGoThroughPointers) {
    const Lowered lowered = product(DType::bf16, {"B", "C", "G", "R", "S"}, {"C"}).lowered();
    EXPECT_NE(lowered.source.find("#include \"sm80/product.cuh\""), std::string::npos);
    EXPECT_NE(lowered.source.find("ExtentsOf<5> const extents"), std::string::npos);
    EXPECT_NE(lowered.source.find("Source<bf16, 5> const operand_a"), std::string::npos);
    EXPECT_NE(lowered.source.find("slab.batch[4]"), std::string::npos);
}

// A bias that every batch reads and whose neighbours belong to different heads.
TEST(Batch, ABiasAcrossTheHeadsIsLaidOutAnew) {
    const auto launches = [](const std::vector<std::string>& memory) {
        Batched t;
        t.kernel.name = "biased";
        ir::Attention node;
        node.q = t.param("q", DType::bf16, {"B", "H", "M", "64"});
        node.k = t.param("k", DType::bf16, {"B", "H", "N", "64"});
        node.v = t.param("v", DType::bf16, {"B", "H", "N", "32"});
        std::vector<std::string> order{"B", "H", "M", "N"};
        if (memory.size() == 3) order.erase(order.begin());
        const ir::ExprId bias = t.b.permute(t.param("bias", DType::bf16, memory), t.dims(order));
        const ir::ExprId seen = t.param("seen", DType::boolean, {"B", "N"}),
                         none = t.b.literal(-1e9);
        node.bias = t.b.select(seen, t.b.expand(bias, t.dims({"B", "H", "M", "N"})), none);
        t.output(t.b.attention(node), DType::bf16);
        const Lowered lowered = t.lowered();
        EXPECT_NE(lowered.source.find("sm90/attention.cuh"), std::string::npos);
        return lowered.record.launches.size();
    };
    EXPECT_EQ(launches({"H", "M", "N"}), 1u);
    EXPECT_EQ(launches({"H", "N", "M"}), 1u);
    EXPECT_EQ(launches({"M", "N", "H"}), 2u);
    EXPECT_EQ(launches({"B", "M", "N", "H"}), 1u);
}

TEST(Batch, AttentionOverMoreGoesThroughPointers) {
    Batched t;
    t.kernel.name = "wide";
    ir::Attention node;
    node.q = t.param("q", DType::bf16, {"A", "B", "C", "H", "M", "64"});
    node.k = t.param("k", DType::bf16, {"A", "C", "N", "64"});
    node.v = t.param("v", DType::bf16, {"A", "C", "N", "32"});
    t.output(t.b.attention(node), DType::bf16);
    const Lowered lowered = t.lowered();
    EXPECT_EQ(lowered.record.launches.size(), 1u);
    EXPECT_NE(lowered.source.find("sm80/attention.cuh"), std::string::npos);
}

}  // namespace
}  // namespace fact::lower

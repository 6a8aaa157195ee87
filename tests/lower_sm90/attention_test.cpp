// Attention over its own skeleton, against golden files; FACT_UPDATE_GOLDEN=1 accepts new text.
#include "lower/sm90/attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "../golden.h"
#include "lower/sm90/attention_shape.h"

namespace fact::lower::sm90 {
namespace {

// q, k and v as views of a packed projection: [B, T, H, D], heads shared by k and v where asked.
struct Heads {
    ir::Kernel kernel;
    std::vector<std::int64_t> extents;

    explicit Heads(DType dtype, bool grouped = false, std::int64_t depth = 96,
                   bool masked = false) {
        kernel.name = "attend";
        const ir::DimId b = kernel.dim("B"), h = kernel.dim("H"), m = kernel.dim("M");
        const ir::DimId n = kernel.dim("N"), d = kernel.dim("D"), e = kernel.dim("E");
        extents = {2, 8, 512, 512, depth, 96};
        ir::Builder build(kernel);
        const auto param = [&](const char* name, std::vector<ir::DimId> memory,
                               std::vector<ir::DimId> order) {
            kernel.params.push_back({name, {dtype, std::move(memory)}, {}});
            const auto index = static_cast<std::uint32_t>(kernel.params.size() - 1);
            return build.permute(build.param(index), std::move(order));
        };
        ir::Attention node;
        node.q = param("q", {b, m, h, d}, {b, h, m, d});
        if (grouped) {
            node.k = param("k", {b, n, d}, {b, n, d});
            node.v = param("v", {b, n, e}, {b, n, e});
        } else {
            node.k = param("k", {b, n, h, d}, {b, h, n, d});
            node.v = param("v", {b, n, h, e}, {b, h, n, e});
        }
        node.causal = !masked;
        node.scale = 0.125;
        if (masked) {  // keys that nobody sees
            kernel.params.push_back({"seen", {DType::boolean, {b, n}}, {}});
            const ir::ExprId seen =
                build.param(static_cast<std::uint32_t>(kernel.params.size() - 1));
            const ir::ExprId zero = build.literal(0.0);
            const ir::ExprId none = build.literal(-std::numeric_limits<double>::infinity());
            node.bias = build.select(seen, zero, none);
            node.zero_unseen = true;
        }
        const ir::ExprId y = build.attention(node);
        kernel.outputs.push_back({{"y", {dtype, kernel[y].type.dims}, {}}, y});
    }
    void allow_tf32() {
        for (ir::Expr& expr : kernel.exprs)
            if (auto* node = std::get_if<ir::Attention>(&expr.node))
                node->precision = ir::Precision::tf32;
    }
};

TEST(LowerAttention, HeadsOfAPackedProjection) {
    const Heads heads(DType::bf16);
    ASSERT_EQ(ir::verify(heads.kernel), "");
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention.cu", lowered->source);
    expect_golden("attention.json", to_json(lowered->record));
    const auto again = launch_record_from_json(to_json(lowered->record));
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(*again, lowered->record);
}

TEST(LowerAttention, ABiasIsComputedWhereItIsAdded) {
    const Heads heads(DType::bf16, false, 64, true);
    ASSERT_EQ(ir::verify(heads.kernel), "");
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention_masked.cu", lowered->source);
    ASSERT_EQ(lowered->record.alignments.size(), 1u);  // of pairs of `seen`
    EXPECT_EQ(lowered->record.alignments[0].bytes, 2);
    EXPECT_EQ(lowered->record.launches[0].params.size(), 6u);

    Heads odd = heads;
    odd.extents[3] = 197;
    const auto strided = lower_attention(odd.kernel, odd.extents);
    ASSERT_TRUE(strided.ok()) << strided.error().text();
    EXPECT_NE(strided->source.find("StridedRow<bool> seen"), std::string::npos);
    EXPECT_TRUE(strided->record.alignments.empty());
}

// Passes write the operands as f16 numbers, with a factor for every block of their rows.
TEST(LowerAttention, F32OperandsThatMayBeRounded) {
    Heads heads(DType::f32, true);
    heads.allow_tf32();
    ASSERT_EQ(ir::verify(heads.kernel), "");
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention_tf32.cu", lowered->source);
    expect_golden("attention_tf32.json", to_json(lowered->record));
    EXPECT_EQ(lowered->record.launches.size(), 4u);
    EXPECT_EQ(lowered->record.workspaces.size(), 6u);
}

TEST(LowerAttention, GroupedHeadsShareKAndV) {
    const Heads heads(DType::f16, true);
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kBatchK = 0b01, kBatchV = 0b01"), std::string::npos);
    EXPECT_NE(lowered->source.find("using Element = half"), std::string::npos);
}

// q and the output have one dimension where k and v have a part of it.
TEST(LowerAttention, HeadsThatShareKeysLieSideBySide) {
    ir::Kernel kernel;
    kernel.name = "shared";
    const ir::DimId b = kernel.dim("B"), g = kernel.dim("G"), r = kernel.dim("4");
    const ir::DimId m = kernel.dim("M"), n = kernel.dim("N"), d = kernel.dim("D");
    const ir::DimId h = kernel.dim_product({g, r});
    std::vector<std::int64_t> extents(kernel.dims.size());
    for (const auto& [dim, extent] :
         {std::pair{b, 2}, {g, 8}, {r, 4}, {m, 512}, {n, 512}, {d, 64}, {h, 32}})
        extents[ir::index(dim)] = extent;
    ir::Builder build(kernel);
    kernel.params = {{"q", {DType::bf16, {b, m, h, d}}, {}},
                     {"k", {DType::bf16, {b, n, g, d}}, {}},
                     {"v", {DType::bf16, {b, n, g, d}}, {}}};
    ir::Attention node;
    node.q = build.permute(build.view(build.param(0), {b, m, g, r, d}), {b, g, r, m, d});
    node.k = build.permute(build.param(1), {b, g, n, d});
    node.v = build.permute(build.param(2), {b, g, n, d});
    node.scale = 0.125;
    const ir::ExprId apart = build.permute(build.attention(node), {b, m, g, r, d});
    const ir::ExprId y = build.view(apart, {b, m, h, d});
    kernel.outputs.push_back({{"y", {DType::bf16, {b, m, h, d}}, {}}, y});
    ASSERT_EQ(ir::verify(kernel), "");
    const auto lowered = lower_attention(kernel, extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kHeads = 1, kRepeats = 4"), std::string::npos);
    EXPECT_NE(lowered->source.find("kBatchK = 0b11, kBatchV = 0b11"), std::string::npos);
    const auto& map = std::get<TensorMapParam>(lowered->record.launches[0].params[0]);
    EXPECT_EQ(map.dims, (std::vector<int>{3, 1, 0, 2}));  // features, rows, batch, heads
}

TEST(LowerAttention, EveryShapeFitsIntoSharedMemory) {
    for (int depth = 8; depth <= kMostFeatures; depth += 8)
        for (int width = 8; width <= kMostFeatures; width += 8)
            for (const bool masked : {false, true}) {
                const auto shape = attention_shape(depth, width, 4096, masked);
                EXPECT_LE(shape.shared_bytes(), 227 * 1024) << depth << " by " << width;
                EXPECT_GE(shape.depth, depth);
                EXPECT_GE(shape.width, width);
            }
}

TEST(LowerAttention, RefusesWhatItCannotHold) {
    const auto why = [](const Heads& heads) {
        const auto lowered = lower_attention(heads.kernel, heads.extents);
        return lowered.ok() ? "" : lowered.error().message;
    };
    EXPECT_NE(why(Heads(DType::f32)).find("f32 operands"), std::string::npos);
    EXPECT_NE(why(Heads(DType::bf16, false, 264)).find("264 features"), std::string::npos);
    EXPECT_NE(why(Heads(DType::bf16, false, 97)).find("16 bytes"), std::string::npos);
}

}  // namespace
}  // namespace fact::lower::sm90

// Attention over its own skeleton, against golden files; FACT_UPDATE_GOLDEN=1 accepts new text.
#include "lower/sm90/attention.h"

#include <gtest/gtest.h>

#include "../attention_heads.h"
#include "../golden.h"
#include "lower/sm90/attention_shape.h"

namespace fact::lower::sm90 {
namespace {

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

// A bias by head and a mask by batch have strides of their own.
TEST(LowerAttention, PartsOfABiasAreJoinedWhereTheyAreAdded) {
    Heads heads(DType::bf16, false, 64);
    ir::Kernel& kernel = heads.kernel;
    const ir::DimId b = kernel.dim("B"), h = kernel.dim("H"), m = kernel.dim("M"),
                    n = kernel.dim("N");
    kernel.params.push_back({"by_head", {DType::bf16, {h, m, n}}, {}});
    kernel.params.push_back({"present", {DType::boolean, {b, n}}, {}});
    ir::Builder build(kernel);
    auto node = std::get<ir::Attention>(kernel[kernel.outputs.front().value].node);
    const ir::ExprId all = build.expand(build.param(3), {b, h, m, n}), present = build.param(4);
    node.bias = build.select(present, all, build.literal(-std::numeric_limits<double>::infinity()));
    node.cap = 30;
    kernel.outputs.front().value = build.attention(node);
    ASSERT_EQ(ir::verify(kernel), "");
    const auto lowered = lower_attention(kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention_joined.cu", lowered->source);
    expect_golden("attention_joined.json", to_json(lowered->record));
    ASSERT_EQ(lowered->record.alignments.size(), 2u);
    EXPECT_EQ(lowered->record.alignments[0].bytes, 4);
    EXPECT_EQ(lowered->record.alignments[1].bytes, 2);
}

TEST(LowerAttention, AWindowIsAConstant) {
    Heads heads(DType::bf16, false, 64);
    heads.attention().window = 256;
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention_window.cu", lowered->source);
    heads.attention().causal = false;
    const auto around = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(around.ok()) << around.error().text();
    EXPECT_NE(around->source.find("kCausal = false"), std::string::npos);
    EXPECT_NE(around->source.find("kWindow = 256"), std::string::npos);
}

TEST(LowerAttention, LogarithmsOfSumsAreASecondOutput) {
    Heads heads(DType::bf16, false, 64);
    heads.add_log_sums();
    ASSERT_EQ(ir::verify(heads.kernel), "");
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention_log_sums.cu", lowered->source);
    expect_golden("attention_log_sums.json", to_json(lowered->record));
    Heads rounded(DType::f32, true);
    rounded.allow_tf32();
    rounded.add_log_sums();
    const auto scaled = lower_attention(rounded.kernel, rounded.extents);
    ASSERT_TRUE(scaled.ok()) << scaled.error().text();
    EXPECT_NE(scaled->source.find("NoBias{}, factors, log_sums)"), std::string::npos);
}

TEST(LowerAttention, GroupedHeadsShareKAndV) {
    const Heads heads(DType::f16, true);
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kBatchK = 0b01, kBatchV = 0b01"), std::string::npos);
    EXPECT_NE(lowered->source.find("using Element = half"), std::string::npos);
}

TEST(LowerAttention, HeadsThatShareKeysLieSideBySide) {
    const Heads heads = heads_sharing_keys();
    ASSERT_EQ(ir::verify(heads.kernel), "");
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kHeads = 1, kRepeats = 4"), std::string::npos);
    EXPECT_NE(lowered->source.find("kBatchK = 0b11, kBatchV = 0b11"), std::string::npos);
    const auto& map = std::get<TensorMapParam>(lowered->record.launches[0].params[0]);
    EXPECT_EQ(map.dims, (std::vector<int>{3, 1, 0, 2}));  // features, rows, batch, heads
}

TEST(LowerAttention, EveryShapeFitsIntoSharedMemory) {
    for (int depth = 8; depth <= kMaxFeatures; depth += 8)
        for (int width = 8; width <= kMaxFeatures; width += 8)
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
    Heads narrow(DType::bf16);
    narrow.add_log_sums();
    narrow.kernel.outputs.back().tensor.type.dtype = DType::bf16;
    EXPECT_NE(why(narrow).find("that is not f32"), std::string::npos);
    Heads capped(DType::bf16);
    capped.attention().cap = 1e6;
    EXPECT_NE(why(capped).find("a cap of"), std::string::npos);
}

}  // namespace
}  // namespace fact::lower::sm90

// Attention over its own skeleton, against golden files; FACT_UPDATE_GOLDEN=1 accepts new text.
#include "lower/sm80/attention.h"

#include <gtest/gtest.h>

#include "../attention_heads.h"
#include "../golden.h"
#include "lower/attention/attention_form.h"
#include "lower/sm80/attention_shape.h"

namespace fact::lower::sm80 {
namespace {

Result<Lowered> lowered_heads(const Heads& heads, std::string_view arch = "sm80") {
    return lower_attention(heads.kernel, heads.extents, arch);
}

TEST(LowerAttentionSm80, HeadsOfAPackedProjection) {
    const Heads heads(DType::bf16);
    const auto lowered = lowered_heads(heads);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention.cu", lowered->source);
    expect_golden("attention.json", to_json(lowered->record));
    EXPECT_EQ(inconsistency(lowered->record), "");
    const auto again = launch_record_from_json(to_json(lowered->record));
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(*again, lowered->record);
}

TEST(LowerAttentionSm80, ABiasIsComputedWhereItIsAdded) {
    const Heads heads(DType::f16, false, 64, true);
    const auto lowered = lowered_heads(heads);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention_masked.cu", lowered->source);
    // q, k and v by 16 bytes, pairs of `seen` and of the output.
    const std::vector<Alignment> wanted{{0, 16}, {1, 16}, {2, 16}, {3, 2}, {4, 4}};
    EXPECT_EQ(lowered->record.alignments, wanted);
}

TEST(LowerAttentionSm80, AWindowIsAConstant) {
    Heads heads(DType::f16, false, 64);
    heads.attention().window = 256;
    const auto lowered = lowered_heads(heads);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention_window.cu", lowered->source);
}

TEST(LowerAttentionSm80, LogarithmsOfSumsAreASecondOutput) {
    Heads heads(DType::f16, false, 64);
    heads.add_log_sums();
    const auto lowered = lowered_heads(heads);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("attention_log_sums.cu", lowered->source);
    EXPECT_EQ(inconsistency(lowered->record), "");
}

TEST(LowerAttentionSm80, HeadsThatShareKeysLieSideBySide) {
    const auto lowered = lowered_heads(heads_sharing_keys());
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kHeads = 1, kRepeats = 4"), std::string::npos);
}

TEST(LowerAttentionSm80, AHopperRunsItToo) {
    const auto lowered = lowered_heads(Heads(DType::bf16), "sm90a");
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(lowered->record.arch, "sm90a");
    EXPECT_FALSE(lowered->record.launches[0].waits);
}

TEST(LowerAttentionSm80, KernelsAreForTheFeaturesTheyWereGiven) {
    const auto lowered = lowered_heads(Heads(DType::bf16, false, 40));
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kDepth = 40, kWidth = 96"), std::string::npos);
    ASSERT_EQ(lowered->fixed.size(), 2u);
    EXPECT_EQ(lowered->fixed[0].extent, 40);
    EXPECT_EQ(lowered->fixed[1].extent, 96);
}

TEST(LowerAttentionSm80, EveryShapeFitsIntoSharedMemoryAndRegisters) {
    for (int depth = 8; depth <= kMaxFeatures; depth += 8)
        for (int width = 8; width <= kMaxFeatures; width += 8)
            for (const bool biased : {false, true})
                for (const std::int64_t rows : {-1, 1, 64, 65, 4096}) {
                    const auto shape = attention_shape(depth, width, rows, biased);
                    EXPECT_LE(shape.shared_bytes(), AttentionShape::kMaxShared)
                        << depth << " by " << width;
                    // A warp takes sixteen rows or twice as many; sums and scores of a lane.
                    EXPECT_TRUE(shape.rows == 64 || shape.rows == 128);
                    const int values =
                        shape.rows / 64 * ((width + 15) / 16 * 8 + shape.columns / 2);
                    EXPECT_LE(values, 160) << depth << " by " << width;
                }
}

TEST(LowerAttentionSm80, RefusesWhatItCannotHold) {
    const auto why = [](const Heads& heads) {
        const auto lowered = lowered_heads(heads);
        return lowered.ok() ? "" : lowered.error().message;
    };
    EXPECT_NE(why(Heads(DType::f32)).find("f32 operands"), std::string::npos);
    EXPECT_NE(why(Heads(DType::bf16, false, 264)).find("264 features"), std::string::npos);
    EXPECT_NE(why(Heads(DType::bf16, false, 97)).find("16 bytes"), std::string::npos);
}

}  // namespace
}  // namespace fact::lower::sm80

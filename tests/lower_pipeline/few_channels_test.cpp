// Convolutions of few channels read their windows as rows that overlap in memory.
#include "lower/product/few_channels.h"

#include <gtest/gtest.h>

#include "../golden.h"
#include "convolution.h"
#include "lower/pipeline/lower.h"
#include "lower/product/product_form.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::ExprId;

using Lines = std::vector<std::string>;
const Lines kCopied{"R, S, C, B, P, Q", "F, R*S*C"};

TEST(FewChannels, ImagesAndWeightsAreStoredWithZeros) {
    EXPECT_EQ(Convolution("c3", 3).stored(),
              (Lines{"B, H_padded, W_padded, C_wide", "F, R, S_long, C_wide"}));
    EXPECT_EQ(Convolution("c8", 8).stored(),
              (Lines{"B, H_padded, W_padded, C", "F, R, S_long, C"}));
    Convolution bf16("bf16", 3);
    bf16.dtype = DType::bf16;
    EXPECT_EQ(bf16.stored(), (Lines{"B, H_padded, W_padded, C_wide", "F, R, S_long, C_wide"}));
    Convolution inside("inside", 8);
    inside.along_h.before = inside.along_h.after = 0;
    EXPECT_EQ(inside.stored(), (Lines{"B, H, W_padded, C", "F, R, S_long, C"}));
}

TEST(FewChannels, TheKernelReadsRowsThatOverlap) {
    Convolution conv("few_channels", 3);
    conv.output("y", DType::f32, conv.result());
    const auto lowered = lower(conv.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
    expect_golden("few_channels.cu", lowered->source);
    expect_golden("few_channels.json", to_json(lowered->record));
}

// Four neighbours are one pixel.
TEST(FewChannels, WindowsWithAStepSeeBlocksOfNeighbours) {
    const auto stored = [](std::int64_t channels, std::int64_t along_h, std::int64_t along_w) {
        Convolution conv("steps", channels);
        conv.along_h.stride = along_h, conv.along_w.stride = along_w;
        return conv.stored();
    };
    EXPECT_EQ(stored(3, 2, 2), (Lines{"B, H_padded, W_padded, R_in*S_in*C_wide",
                                      "F, R_blocks, S_blocks, R_in*S_in*C_wide"}));
    EXPECT_EQ(stored(8, 1, 2), (Lines{"B, H_padded, W_padded, S_in*C", "F, R, S_blocks, S_in*C"}));
    Convolution conv("steps", 3);
    conv.along_h.stride = conv.along_w.stride = 2;
    conv.output("y", DType::f32, conv.result());
    const auto lowered = lower(conv.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
    expect_golden("few_channels_steps.cu", lowered->source);
}

TEST(FewChannels, ANumberOfChannelsThatIsKnownBecomesConstant) {
    const auto with = [](std::int64_t channels, bool assumed) {
        Convolution conv("known", 0);
        LowerOptions options;
        options.extents.assign(conv.kernel.dims.size(), ir::kUnknownExtent);
        options.assumed.assign(conv.kernel.dims.size(), false);
        options.extents[ir::index(conv.c)] = channels;
        options.assumed[ir::index(conv.c)] = assumed;
        const Pipeline pipeline = conv.cut(options);
        return pipeline.kernel[conv.c].extent;
    };
    EXPECT_EQ(with(8, false), 8);
    EXPECT_EQ(with(8, true), std::nullopt);
    EXPECT_EQ(with(64, false), std::nullopt);
}

TEST(FewChannels, OthersAreReadAsBefore) {
    EXPECT_EQ(Convolution("many", 32).stored().size(), 2);
    const auto changed = [](auto change) {
        Convolution conv("changed", 8);
        change(conv);
        for (const std::string& dims : conv.stored())
            if (dims.find("_padded") != std::string::npos) return true;
        return false;
    };
    EXPECT_TRUE(changed([](auto&) {}));
    EXPECT_FALSE(changed([](auto& conv) { conv.along_w.stride = 3; }));
    EXPECT_FALSE(changed([](auto& conv) { conv.along_h.stride = 3; }));
    EXPECT_FALSE(changed([](auto& conv) { conv.along_h.stride = 4; }));  // skips elements
    EXPECT_FALSE(changed([](auto& conv) { conv.along_w.dilation = 2; }));
    EXPECT_FALSE(changed([](auto& conv) { conv.along_h.before = -1; }));
    EXPECT_FALSE(changed([](auto& conv) { conv.kernel.dims[ir::index(conv.c)].extent = 32; }));
    // TMA's windows waste less of a line of TF32 numbers.
    EXPECT_FALSE(changed([](auto& conv) {
        conv.precision = ir::Precision::tf32;
        conv.kernel.dims[ir::index(conv.c)].extent = 16;
    }));
    LowerOptions options;
    options.arch = "sm80";
    EXPECT_EQ(Convolution("sm80", 8).stored(options).size(), 2);
}

// Then the result is stored first, which may be larger than a copy of the windows.
TEST(FewChannels, AnOperandThatVariesAlongRowsIsReadAfterwards) {
    Convolution conv("residual", 8);
    conv.kernel.dims[ir::index(conv.f)].extent = 256;
    const ExprId sum = conv.result();
    const ExprId r = conv.param("r", DType::f32, {conv.batch, conv.f, conv.p, conv.q});
    conv.output("y", DType::f32, conv.b.binary(BinaryOp::add, sum, r));
    const auto pipeline = stages(conv.kernel, {});
    for (const Stage& stage : pipeline->stages) {
        const auto form = product_form(stage.kernel);
        EXPECT_FALSE(form && form->a.overlaps());
    }
}

}  // namespace
}  // namespace fact::lower

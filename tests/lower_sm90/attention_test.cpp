// Attention over its own skeleton, against golden files; FACT_UPDATE_GOLDEN=1 accepts new text.
#include "lower/sm90/attention.h"

#include <gtest/gtest.h>

#include "../golden.h"

namespace fact::lower::sm90 {
namespace {

// q, k and v as views of a packed projection: [B, T, H, D], heads shared by k and v where asked.
struct Heads {
    ir::Kernel kernel;
    std::vector<std::int64_t> extents;

    explicit Heads(DType dtype, bool grouped = false, std::int64_t depth = 96) {
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
        node.causal = true;
        node.scale = 0.125;
        const ir::ExprId y = build.attention(node);
        kernel.outputs.push_back({{"y", {dtype, kernel[y].type.dims}, {}}, y});
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

TEST(LowerAttention, GroupedHeadsShareKAndV) {
    const Heads heads(DType::f16, true);
    const auto lowered = lower_attention(heads.kernel, heads.extents);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kBatchK = 0b01, kBatchV = 0b01"), std::string::npos);
    EXPECT_NE(lowered->source.find("using Element = half"), std::string::npos);
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

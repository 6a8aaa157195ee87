// Emitted CUDA and launch records against golden files; FACT_UPDATE_GOLDEN=1 writes them anew.
#include "lower/sm80/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "../golden.h"

namespace fact::lower::sm80 {
namespace {

using ir::BinaryOp;
using ir::Builder;
using ir::UnaryOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Declared {
    std::string name;
    DType dtype;
    std::vector<std::string> dims;
};

ir::Kernel declare(const std::string& name, const std::vector<Declared>& params,
                   const Declared& output) {
    ir::Kernel kernel;
    kernel.name = name;
    const auto tensor = [&](const Declared& declared) {
        ir::Tensor t{declared.name, {declared.dtype, {}}, {}};
        for (const auto& dim : declared.dims) t.type.dims.push_back(kernel.dim(dim));
        return t;
    };
    for (const Declared& p : params) kernel.params.push_back(tensor(p));
    kernel.outputs.push_back({tensor(output), {}});
    return kernel;
}

ir::Kernel linear_gelu(DType dtype) {
    auto k = declare("linear_gelu_tanh",
                     {{"x", dtype, {"M", "K"}}, {"w", dtype, {"N", "K"}}, {"b", dtype, {"N"}}},
                     {"y", dtype, {"M", "N"}});
    Builder b(k);
    const auto acc = b.product(b.param(0), b.transpose(b.param(1)));
    k.outputs[0].value = b.unary(UnaryOp::gelu_tanh, b.binary(BinaryOp::add, acc, b.param(2)));
    return k;
}

// Heads beside the rows, keys shared by all of the batch, and a mask.
ir::Kernel scores() {
    auto k = declare("matmul_scale_mask",
                     {{"q", DType::bf16, {"B", "M", "H", "K"}},
                      {"k", DType::bf16, {"H", "N", "K"}},
                      {"mask", DType::f32, {"M", "N"}}},
                     {"y", DType::bf16, {"B", "H", "M", "N"}});
    Builder b(k);
    const auto q = b.permute(b.param(0), {k.dim("B"), k.dim("H"), k.dim("M"), k.dim("K")});
    const auto scaled =
        b.binary(BinaryOp::mul, b.product(q, b.transpose(b.param(1))), b.literal(0.125));
    const auto hidden = b.binary(BinaryOp::eq, b.param(2), b.literal(0));
    k.outputs[0].value = b.select(hidden, b.literal(-kInfinity), scaled);
    return k;
}

// Both operands contiguous along M and N, the result along M.
ir::Kernel gram(DType dtype) {
    auto k = declare("gram", {{"x", dtype, {"K", "M"}}, {"w", dtype, {"K", "N"}}},
                     {"y", dtype, {"N", "M"}});
    Builder b(k);
    k.outputs[0].value = b.transpose(b.product(b.transpose(b.param(0)), b.param(1)));
    return k;
}

void expect_golden(const std::string& name, const Result<Lowered>& lowered) {
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    fact::expect_golden(name + ".cu", lowered->source);
    fact::expect_golden(name + ".json", to_json(lowered->record));
    EXPECT_EQ(inconsistency(lowered->record), "");
    const auto again = launch_record_from_json(to_json(lowered->record));
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(*again, lowered->record);
}

const schedule::Schedule kTile{{128, 128, 32}, {1, 1}};

TEST(LowerSm80, LinearWithBiasAndGelu) {
    expect_golden("linear_gelu", lower(linear_gelu(DType::bf16), kTile));
}

TEST(LowerSm80, F32IsSplitInRegisters) {
    expect_golden("linear_gelu_f32", lower(linear_gelu(DType::f32), kTile));
}

TEST(LowerSm80, AnyAlignmentForAHopper) {
    schedule::Schedule small{{64, 64, 64}, {1, 1}};
    expect_golden("linear_gelu_unaligned",
                  lower(linear_gelu(DType::bf16), small, {"sm90a", {2, 4, 2, 2}}));
}

TEST(LowerSm80, StridedBatchWithMask) {
    expect_golden("scores", lower(scores(), kTile));
}

TEST(LowerSm80, OutputContiguousAlongM) {
    expect_golden("gram", lower(gram(DType::f16), kTile));
}

TEST(LowerSm80, AnOperandContiguousAlongTheBatchIsCopiedByElements) {
    auto k = declare("interleaved",
                     {{"x", DType::bf16, {"M", "K", "B"}}, {"w", DType::bf16, {"B", "K", "N"}}},
                     {"y", DType::bf16, {"B", "M", "N"}});
    Builder b(k);
    const auto x = b.permute(b.param(0), {k.dim("B"), k.dim("M"), k.dim("K")});
    k.outputs[0].value = b.product(x, b.param(1));
    const auto lowered = lower(k, kTile);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kCopyBytesA = 2, kCopyBytesB = 16"), std::string::npos);
    ASSERT_EQ(lowered->record.alignments.size(), 2u);
    EXPECT_EQ(lowered->record.alignments[0], (Alignment{1, 16}));
    EXPECT_EQ(lowered->record.alignments[1], (Alignment{2, 4}));
}

TEST(LowerSm80, AlignmentDecidesWidths) {
    // 12 bytes are no width: 4 are.
    const auto lowered = lower(linear_gelu(DType::bf16), kTile, {"sm80", {12, 8, 2, 4}});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("kCopyBytesA = 4, kCopyBytesB = 8"), std::string::npos);
    EXPECT_NE(lowered->source.find("StridedRow<bf16> b;"), std::string::npos);
    EXPECT_NE(lowered->source.find(" Output<bf16> const output_y"), std::string::npos);
    const std::vector<Alignment> wanted{{0, 4}, {1, 8}, {3, 4}};
    EXPECT_EQ(lowered->record.alignments, wanted);
}

TEST(LowerSm80, RefusesAnIllegalSchedule) {
    schedule::Schedule wrong = kTile;
    wrong.cluster = {2, 1};
    const auto lowered = lower(linear_gelu(DType::bf16), wrong);
    ASSERT_FALSE(lowered.ok());
    EXPECT_NE(lowered.error().message.find("no clusters"), std::string::npos);
}

TEST(ScheduleSm80, EveryCandidateIsLegalAndNamedOnce) {
    for (const DType dtype : {DType::bf16, DType::f32})
        for (const long k : {64L, 4096L, 524288L}) {
            schedule::Problem p;
            p.operands = p.output = dtype, p.split = dtype == DType::f32;
            p.m = 1000, p.n = 3000, p.k = k;
            std::vector<std::string> seen;
            for (const schedule::Schedule& s : schedule::candidates_on_sm80(p)) {
                EXPECT_EQ(illegal_on_sm80(s, p), "") << to_string(s);
                EXPECT_EQ(std::count(seen.begin(), seen.end(), to_string(s)), 0) << to_string(s);
                seen.push_back(to_string(s));
                const auto memory = shared_memory_on_sm80(s, p);
                EXPECT_GE(memory.stages, 2);
                EXPECT_LE(memory.bytes, 166912);
                const auto warps = warps_on_sm80(s, p);
                EXPECT_TRUE(warps.m * warps.n == 4 || warps.m * warps.n == 8) << to_string(s);
            }
            EXPECT_GE(seen.size(), 4u);
        }
}

TEST(ScheduleSm80, EachRefusalSaysWhy) {
    const schedule::Problem p{.m = 1024, .n = 1024, .k = 1024};
    const auto why = [&](schedule::Schedule s) { return illegal_on_sm80(s, p); };
    EXPECT_NE(why({{128, 128, 48}, {1, 1}}).find("k-tile"), std::string::npos);
    EXPECT_NE(why({{96, 128, 32}, {1, 1}}).find("rows"), std::string::npos);
    EXPECT_NE(why({{128, 192, 32}, {1, 1}}).find("columns"), std::string::npos);
    EXPECT_NE(why({{256, 256, 32}, {1, 1}}).find("warps"), std::string::npos);
    EXPECT_NE(why({{128, 128, 32}, {1, 1}, schedule::Mainloop::pingpong}).find("cooperative"),
              std::string::npos);
    EXPECT_NE(why({{128, 128, 64}, {1, 1}, schedule::Mainloop::cooperative, 6}).find("stages"),
              std::string::npos);
}

}  // namespace
}  // namespace fact::lower::sm80

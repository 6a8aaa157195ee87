// Emitted CUDA and launch records against golden files; FACT_UPDATE_GOLDEN=1 writes them anew.
#include "lower/sm90/lower.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../golden.h"
#include "support/files.h"

namespace fact::lower::sm90 {
namespace {

using ir::BinaryOp;
using ir::Builder;
using ir::UnaryOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A kernel with its tensors declared: "name: dtype[dims]" as data.
ir::Kernel declare(const std::string& name,
                   std::vector<std::tuple<std::string, DType, std::vector<std::string>>> params,
                   std::tuple<std::string, DType, std::vector<std::string>> output) {
    ir::Kernel kernel;
    kernel.name = name;
    const auto tensor = [&](const auto& declared) {
        ir::Tensor t{std::get<0>(declared), {std::get<1>(declared), {}}, {}};
        for (const auto& dim : std::get<2>(declared)) t.type.dims.push_back(kernel.dim(dim));
        return t;
    };
    for (const auto& p : params) kernel.params.push_back(tensor(p));
    kernel.outputs.push_back({tensor(output), {}});
    return kernel;
}

ir::Kernel linear_gelu(DType dtype, ir::Precision precision = ir::Precision::exact) {
    auto k = declare("linear_gelu_tanh",
                     {{"x", dtype, {"M", "K"}}, {"w", dtype, {"N", "K"}}, {"b", dtype, {"N"}}},
                     {"y", dtype, {"M", "N"}});
    Builder b(k);
    const auto acc = b.product(b.param(0), b.transpose(b.param(1)), precision);
    k.outputs[0].value = b.unary(UnaryOp::gelu_tanh, b.binary(BinaryOp::add, acc, b.param(2)));
    return k;
}

ir::Kernel linear_residual(DType dtype) {
    auto k = declare("linear_residual",
                     {{"x", dtype, {"M", "K"}},
                      {"w", dtype, {"N", "K"}},
                      {"b", dtype, {"N"}},
                      {"residual", dtype, {"M", "N"}}},
                     {"y", dtype, {"M", "N"}});
    Builder b(k);
    const auto acc = b.product(b.param(0), b.transpose(b.param(1)));
    k.outputs[0].value =
        b.binary(BinaryOp::add, b.param(3), b.binary(BinaryOp::add, acc, b.param(2)));
    return k;
}

ir::Kernel scores() {
    auto k = declare("matmul_scale_mask",
                     {{"q", DType::bf16, {"B", "M", "H", "K"}},
                      {"k", DType::bf16, {"B", "N", "H", "K"}},
                      {"mask", DType::f32, {"M", "N"}}},
                     {"y", DType::bf16, {"B", "H", "M", "N"}});
    Builder b(k);
    const auto q = b.permute(b.param(0), {k.dim("B"), k.dim("H"), k.dim("M"), k.dim("K")});
    const auto kt = b.permute(b.param(1), {k.dim("B"), k.dim("H"), k.dim("K"), k.dim("N")});
    const auto scaled = b.binary(BinaryOp::mul, b.product(q, kt), b.literal(0.125));
    const auto hidden = b.binary(BinaryOp::eq, b.param(2), b.literal(0));
    k.outputs[0].value = b.select(hidden, b.literal(-kInfinity), scaled);
    return k;
}

const schedule::Schedule kPingpong{{128, 128, 64}, {2, 1}, schedule::Mainloop::pingpong};
const schedule::Schedule kWide{{128, 256, 64}, {1, 2}, schedule::Mainloop::cooperative};
const schedule::Schedule kRounded{{128, 256, 32}, {2, 1}, schedule::Mainloop::cooperative};
const schedule::Schedule kSplit{{128, 128, 32}, {1, 2}, schedule::Mainloop::cooperative};

TEST(LowerSm90, LinearWithBiasAndGelu) {
    const auto lowered = lower(linear_gelu(DType::bf16), kPingpong);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("linear_gelu.cu", lowered->source);
    expect_golden("linear_gelu.json", to_json(lowered->record));
}

TEST(LowerSm90, F32IsSplitAndItsWeightPrepared) {
    const auto lowered = lower(linear_gelu(DType::f32), kSplit);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("linear_gelu_f32.cu", lowered->source);
    expect_golden("linear_gelu_f32.json", to_json(lowered->record));
}

TEST(LowerSm90, F32RoundedToTf32IsOneProductOfF16) {
    const auto lowered = lower(linear_gelu(DType::f32, ir::Precision::tf32), kRounded);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("linear_gelu_tf32.cu", lowered->source);
    expect_golden("linear_gelu_tf32.json", to_json(lowered->record));
    EXPECT_EQ(lowered->record.precision, "tf32");
}

TEST(LowerSm90, AResidualIsStagedThroughTheOutputsBoxes) {
    const auto lowered = lower(linear_residual(DType::bf16), kPingpong);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("linear_residual.cu", lowered->source);
    expect_golden("linear_residual.json", to_json(lowered->record));
    // f32 needs two boxes a slab, and takes a stage less for them.
    const auto single = lower(linear_residual(DType::f32), kSplit);
    ASSERT_TRUE(single.ok()) << single.error().text();
    EXPECT_NE(single->source.find("kStages = 5"), std::string::npos);
    EXPECT_NE(single->source.find("kStoreBuffers = 4"), std::string::npos);
}

TEST(LowerSm90, StridedBatchWithMask) {
    const auto lowered = lower(scores(), kWide);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("scores.cu", lowered->source);
    expect_golden("scores.json", to_json(lowered->record));
}

TEST(LowerSm90, DividedTilesLeaveTheirSumsInAWorkspace) {
    schedule::Schedule divided = kPingpong;
    divided.scheduler = schedule::Scheduler::streamk;
    const auto lowered = lower(linear_gelu(DType::bf16), divided);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("linear_gelu_streamk.cu", lowered->source);
    expect_golden("linear_gelu_streamk.json", to_json(lowered->record));
}

// Numbers that the record and the skeletons have to agree on.
TEST(LowerSm90, ConstantsAreTheSkeletons) {
    const auto skeletons = [](const std::string& file) {
        const auto text = read_file(std::filesystem::path(FACT_SOURCE_DIR) / "kernels/sm90" / file);
        return text ? *text : std::string();
    };
    const std::string passes = skeletons("prepare_pass.cuh");
    const auto lowered = lower(linear_gelu(DType::f32), kSplit);
    ASSERT_TRUE(lowered.ok());
    const auto& launches = lowered->record.launches;
    ASSERT_EQ(launches.size(), 3u);
    const auto& maximum = std::get<TileGrid>(launches[0].grid);
    const auto& split = std::get<TileGrid>(launches[1].grid);
    EXPECT_EQ(maximum.tile_m, split.tile_m);
    for (const std::string& constant : {"kPassTile = " + std::to_string(split.tile_m),
                                        "kPassThreads = " + std::to_string(launches[1].block),
                                        "kSpan = " + std::to_string(split.tile_n),
                                        "kMaximumSpan = " + std::to_string(maximum.tile_n)})
        EXPECT_NE(passes.find(constant), std::string::npos) << constant;
    EXPECT_NE(skeletons("product.cuh")
                  .find("kProductThreads = " + std::to_string(launches[2].block) + ";"),
              std::string::npos);
}

TEST(LowerSm90, RecordsRoundTrip) {
    schedule::Schedule divided = kSplit;
    divided.scheduler = schedule::Scheduler::splitk;
    for (const auto& lowered : {lower(scores(), kWide), lower(linear_gelu(DType::f32), divided)}) {
        ASSERT_TRUE(lowered.ok());
        const auto again = launch_record_from_json(to_json(lowered->record));
        ASSERT_TRUE(again.ok()) << again.error().text();
        EXPECT_EQ(*again, lowered->record);
    }
}

TEST(LowerSm90, RefusesWhatTheSkeletonCannotExpress) {
    auto k = declare("twice", {{"x", DType::f32, {"M", "K"}}, {"w", DType::f32, {"N", "K"}}},
                     {"y", DType::f32, {"M", "N"}});
    Builder b(k);
    const auto x = b.binary(BinaryOp::mul, b.param(0), b.literal(2));
    k.outputs[0].value = b.product(x, b.transpose(b.param(1)));
    const auto lowered = lower(k, kSplit);
    ASSERT_FALSE(lowered.ok());
    EXPECT_NE(lowered.error().message.find("arithmetic on an operand"), std::string::npos);
}

TEST(LowerSm90, RefusesAnIllegalSchedule) {
    schedule::Schedule wrong = kPingpong;
    wrong.tile.n = 160;
    const auto lowered = lower(linear_gelu(DType::bf16), wrong);
    ASSERT_FALSE(lowered.ok());
    EXPECT_NE(lowered.error().message.find("160"), std::string::npos);
}

}  // namespace
}  // namespace fact::lower::sm90

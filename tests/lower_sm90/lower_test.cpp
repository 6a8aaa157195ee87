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

// A gate: both products in one tile.
ir::Kernel gated() {
    auto k = declare("gated",
                     {{"x", DType::bf16, {"M", "K"}},
                      {"w", DType::bf16, {"N", "K"}},
                      {"w2", DType::bf16, {"N", "K"}}},
                     {"y", DType::bf16, {"M", "N"}});
    Builder b(k);
    const auto gate = b.product(b.param(0), b.transpose(b.param(1)));
    const auto up = b.product(b.param(0), b.transpose(b.param(2)));
    k.outputs[0].value = b.binary(BinaryOp::mul, b.unary(UnaryOp::silu, gate), up);
    return k;
}

// A rotary embedding of heads of 128: cosines and sines begin anew with every head. With a bias,
// that is flipped, too.
ir::Kernel rotary(bool bias = false, const char* depth = "64") {
    ir::Kernel k;
    k.name = bias ? "linear_bias_rotary" : "linear_rotary";
    const auto m = k.dim("M"), d = k.dim("K"), g = k.dim("G"), two = k.dim("2");
    const auto half = k.dim(depth);
    const auto head = k.factored_dim({two, half}), n = k.factored_dim({g, two, half});
    k.params = {{"x", {DType::bf16, {m, d}}, {}},
                {"w", {DType::bf16, {n, d}}, {}},
                {"cosine", {DType::bf16, {m, head}}, {}},
                {"sine", {DType::bf16, {m, head}}, {}}};
    if (bias) k.params.push_back({"bias", {DType::bf16, {n}}, {}});
    Builder b(k);
    const auto acc = b.product(b.param(0), b.transpose(b.param(1)));
    auto h = b.view(acc, {m, g, two, half}), other = b.flip(h, two);
    if (bias) {
        const auto added = b.view(b.param(4), {g, two, half});
        h = b.binary(BinaryOp::add, h, added);
        other = b.binary(BinaryOp::add, other, b.flip(added, two));
    }
    const auto first = b.binary(BinaryOp::eq, b.index(two), b.literal(0, DType::i32));
    const auto sign = b.select(first, b.literal(-1), b.literal(1));
    const auto turned = b.binary(BinaryOp::mul, other, sign);
    const auto cosine = b.view(b.param(2), {m, two, half});
    const auto sine = b.view(b.param(3), {m, two, half});
    const auto sum = b.binary(BinaryOp::add, b.binary(BinaryOp::mul, h, cosine),
                              b.binary(BinaryOp::mul, turned, sine));
    k.outputs = {{{"y", {DType::bf16, {m, n}}, {}}, b.view(sum, {m, n})}};
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

TEST(LowerSm90, TwoProductsOfOneMatrixShareATile) {
    const auto lowered = lower(gated(), kPingpong);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("gated.cu", lowered->source);
    expect_golden("gated.json", to_json(lowered->record));
    // Half a tile of 64 columns is less than a line.
    schedule::Schedule narrow = kWide;
    narrow.tile.n = 64;
    EXPECT_FALSE(lower(gated(), narrow).ok());
}

TEST(LowerSm90, ColumnsOfOneTileChangePlaces) {
    const auto lowered = lower(rotary(), kPingpong);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("rotary.cu", lowered->source);
    expect_golden("rotary.json", to_json(lowered->record));
    schedule::Schedule parting = kWide;
    parting.tile.n = 192;  // a head and a half
    const auto parted = lower(rotary(), parting);
    ASSERT_FALSE(parted.ok());
    EXPECT_NE(parted.error().message.find("its width, 192, is not a multiple of 128"),
              std::string::npos);
}

// Along a row only what varies there is fetched anew. Parameters step aside that are called as
// something of the functor's own.
TEST(LowerSm90, WhatIsTheSameAlongARowIsKept) {
    auto k = declare("scaled_linear",
                     {{"x", DType::bf16, {"M", "K"}},
                      {"w", DType::bf16, {"N", "K"}},
                      {"left", DType::bf16, {"N"}},
                      {"kPeriod", DType::f32, {"M"}},
                      {"kPeriod_", DType::bf16, {"N"}}},
                     {"y", DType::bf16, {"M", "N"}});
    Builder b(k);
    const auto n = k.dim("N");
    const auto rows = b.expand(b.param(3), {k.dim("M"), n});
    const auto acc = b.product(b.param(0), b.transpose(b.param(1)));
    const auto scaled = b.binary(BinaryOp::mul, acc, rows);
    k.outputs[0].value =
        b.binary(BinaryOp::add, b.binary(BinaryOp::add, scaled, b.param(2)), b.param(4));
    const auto lowered = lower(k, kPingpong);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    const auto right = lowered->source.find(
        "fetch_right(Slab const& slab, Fetched const& left) const {\n"
        "        return {left_.fetch(slab), left.kPeriod__, kPeriod_.fetch(slab)};");
    EXPECT_NE(right, std::string::npos) << lowered->source;
    EXPECT_EQ(lowered->source.find("static constexpr int kPeriod"), std::string::npos);
}

// What is read beside the sums is read at the partner's place: of another slab where the two lie
// apart, else among what the lane has.
TEST(LowerSm90, ABiasChangesPlacesWithItsColumns) {
    const auto lowered = lower(rotary(true), kPingpong);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("bias_rotary.cu", lowered->source);
    const auto near = lower(rotary(true, "16"), kPingpong);
    ASSERT_TRUE(near.ok()) << near.error().text();
    EXPECT_NE(near->source.find("at.bias.at(fact::flipped<16>(i))"), std::string::npos);
    EXPECT_EQ(near->source.find("across"), std::string::npos);
    schedule::Schedule by_heads = kWide;
    by_heads.tile.n = 192;
    for (const char* part_of_slabs : {"48", "24"}) {
        const auto parted = lower(rotary(true, part_of_slabs), by_heads);
        ASSERT_FALSE(parted.ok()) << part_of_slabs;
        EXPECT_NE(parted.error().message.find("an operand flipped by"), std::string::npos)
            << parted.error().message;
    }
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

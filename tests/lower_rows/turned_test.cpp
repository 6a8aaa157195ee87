// Pointwise kernels that write a tensor along other dimensions than they read it.
#include <fmt/format.h>

#include "golden_kernel.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;

// Images [B, C, H, W] with a bias, stored [B, H, W, C]; perhaps with what is already there.
struct ChannelsLast {
    ir::Kernel kernel;
    RowsFacts facts{"sm90a"};

    ChannelsLast(const char* name, std::int64_t channels, bool residual) {
        kernel.name = name;
        ir::Builder b(kernel);
        const auto n = kernel.dim("B"), c = kernel.dim("C"), h = kernel.dim("H"),
                   w = kernel.dim("W");
        const std::vector<ir::DimId> to{n, h, w, c};
        kernel.params = {{"x", {DType::bf16, {n, c, h, w}}, {}}, {"b", {DType::bf16, {c}}, {}}};
        if (residual) kernel.params.push_back({"r", {DType::bf16, to}, {}});
        auto y = b.binary(BinaryOp::add, b.permute(b.param(0), to), b.expand(b.param(1), to));
        if (residual) y = b.binary(BinaryOp::add, b.unary(ir::UnaryOp::relu, y), b.param(2));
        kernel.outputs = {{{"y", {DType::bf16, to}, {}}, y}};
        facts.extents.assign(kernel.dims.size(), ir::kUnknownExtent);
        for (const auto& [dim, extent] :
             {std::pair{n, std::int64_t{64}}, {c, channels}, {h, 28}, {w, 28}})
            facts.extents[ir::index(dim)] = extent;
    }
    std::string source() const {
        const auto lowered = lower_rows(kernel, facts);
        return lowered ? lowered->source : lowered.error().text();
    }
};

TEST(Turned, ReadsAlongTheResultAfterTurning) {
    const ChannelsLast kernel("channels_last", 96, true);
    expect_golden_kernel(kernel.kernel, kernel.facts);
}

TEST(Turned, TilesEndWithTheRowsIfTheyCan) {
    for (const auto& [channels, rows] : {std::pair{16, 16},
                                         {17, 32},
                                         {48, 16},
                                         {64, 64},
                                         {96, 32},
                                         {100, 64},
                                         {160, 32},
                                         {256, 64}}) {
        const std::string source = ChannelsLast("tiles", channels, false).source();
        EXPECT_NE(source.find(fmt::format("turned<TurnedTile<{},", rows)), std::string::npos)
            << channels << '\n'
            << source;
        EXPECT_EQ(source.find("finish"), std::string::npos);
    }
}

// What comes before the turn is computed as well.
TEST(Turned, ComputesWhatIsTurned) {
    ir::Kernel kernel;
    kernel.name = "positive";
    ir::Builder b(kernel);
    const auto c = kernel.dim("C"), p = kernel.dim("P");
    kernel.params.push_back({"x", {DType::bf16, {c, p}}, {}});
    const auto y = b.permute(b.unary(ir::UnaryOp::relu, b.param(0)), {p, c});
    kernel.outputs.push_back({{"y", {DType::bf16, {p, c}}, {}}, y});
    const auto lowered = lower_rows(kernel, {.arch = "sm90a", .extents = {64, 784}});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("turned<"), std::string::npos) << lowered->source;
    EXPECT_NE(lowered->source.find("relu"), std::string::npos) << lowered->source;
}

// Images that a norm gives, as f16 numbers: all that comes with a channel is read before the turn.
TEST(Turned, ComputesANormOnTheWay) {
    ir::Kernel kernel;
    kernel.name = "normalised";
    ir::Builder b(kernel);
    const auto n = kernel.dim("B"), c = kernel.dim("C"), h = kernel.dim("H"), w = kernel.dim("W");
    kernel.params = {{"x", {DType::f32, {n, c, h, w}}, {}}};
    for (const char* name : {"mean", "inverse", "gain", "shift", "divisor"})
        kernel.params.push_back({name, {DType::f32, {c}}, {}});
    auto y = b.binary(BinaryOp::sub, b.param(0), b.param(1));
    for (const std::uint32_t factor : {2, 3}) y = b.binary(BinaryOp::mul, y, b.param(factor));
    y = b.unary(ir::UnaryOp::relu, b.binary(BinaryOp::add, y, b.param(4)));
    y = b.binary(BinaryOp::mul, y, b.unary(ir::UnaryOp::reciprocal, b.param(5)));
    const std::vector<ir::DimId> to{n, h, w, c};
    kernel.outputs = {{{"y", {DType::f16, to}, {}}, b.permute(y, to)}};
    RowsFacts facts{"sm90a"};
    facts.extents = {10, 64, 56, 56};
    expect_golden_kernel(kernel, facts);
}

}  // namespace
}  // namespace fact::lower

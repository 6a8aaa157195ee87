// Row kernels in which a thread sees the windows of several places and neighbours.
#include "lower/rows/strips.h"

#include "golden_kernel.h"
#include "ir/extents.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::Builder;
using ir::DimId;
using ir::ReduceOp;

struct Depthwise {
    ir::Kernel kernel;
    RowsFacts facts{"sm90a"};

    // A convolution of each channel by itself, with its bias; images are channels last or first.
    Depthwise(const char* name, bool channels_last, std::int64_t images, std::int64_t stride,
              std::int64_t taps = 3) {
        kernel.name = name;
        Builder b(kernel);
        const auto n = kernel.dim("B"), c = kernel.dim("C"), h = kernel.dim("H"),
                   w = kernel.dim("W"), r = kernel.dim("3"), s = kernel.dim("S");
        kernel.dims[ir::index(s)].extent = taps;
        kernel.dims.push_back({"P", {}, {}, ir::WindowRule{h, r, stride, 1, 1, 1}});
        kernel.dims.push_back(
            {"Q", {}, {}, ir::WindowRule{w, s, stride, 1, taps / 2, (taps - 1) / 2}});
        const auto p = kernel.dim("P"), q = kernel.dim("Q");
        using Dims = std::vector<DimId>;
        kernel.params = {
            {"x", {DType::bf16, channels_last ? Dims{n, h, w, c} : Dims{n, c, h, w}}, {}},
            {"w", {DType::bf16, channels_last ? Dims{r, s, c} : Dims{c, r, s}}, {}},
            {"b", {DType::bf16, {c}}, {}}};
        const Dims to = channels_last ? Dims{n, p, q, c} : Dims{n, c, p, q};
        Dims all = to;
        all.insert(all.end(), {r, s});
        const auto seen = b.permute(b.window(b.param(0), {p, q}), all);
        const auto weights = b.expand(b.permute(b.param(1), {c, r, s}), all);
        const auto sum = b.reduce(ReduceOp::sum, b.binary(BinaryOp::mul, seen, weights), {r, s});
        const auto y = b.binary(BinaryOp::add, sum, b.expand(b.param(2), to));
        kernel.outputs = {{{"y", {DType::bf16, to}, {}}, y}};
        facts.extents.assign(kernel.dims.size(), ir::kUnknownExtent);
        for (const auto& [dim, extent] : {std::pair{n, images}, {c, 64}, {h, 30}, {w, 30}})
            facts.extents[ir::index(dim)] = extent;
        EXPECT_EQ(ir::solve_extents(kernel, facts.extents), "");
    }
    std::string source() const {
        const auto lowered = lower_rows(kernel, facts);
        return lowered ? lowered->source : lowered.error().text();
    }
};

TEST(Strips, OfChannelsLastReadNeighbours) {
    const Depthwise d("depthwise_last", true, 256, 1);
    EXPECT_EQ(ir::verify(d.kernel), "");
    expect_golden_kernel(d.kernel, d.facts);
}

TEST(Strips, OfChannelsFirstGoDown) {
    const Depthwise d("depthwise_first", false, 256, 1);
    expect_golden_kernel(d.kernel, d.facts);
}

TEST(Strips, AreAsLongAsThreadsSuffice) {
    EXPECT_NE(Depthwise("few", true, 1, 1).source().find("Reduced<Sum, 1, 8>"), std::string::npos);
    EXPECT_NE(Depthwise("many", true, 4096, 1).source().find("Reduced<Sum, 4, 8>"),
              std::string::npos);
    // Places that are further apart than a window share nothing.
    EXPECT_NE(Depthwise("apart", true, 4096, 3).source().find("Reduced<Sum, 1, 8>"),
              std::string::npos);
}

TEST(Strips, ReadAsManyNeighboursAsAreAligned) {
    Depthwise d("unaligned", true, 4096, 1);
    d.facts.alignment = {8};
    EXPECT_NE(d.source().find("Reduced<Sum, 4, 4>"), std::string::npos) << d.source();
}

// The strip is no dimension of features, though weights may have it innermost.
TEST(Strips, MayReadOtherTensorsAlongThem) {
    Depthwise d("scaled", true, 4096, 1);
    d.kernel.params.push_back({"s", {DType::bf16, {d.kernel.dim("Q")}}, {}});
    Builder b(d.kernel);
    const auto& convolution = std::get<ir::Binary>(d.kernel[d.kernel.outputs.front().value].node);
    const auto& sum = std::get<ir::Reduce>(d.kernel[convolution.a].node);
    const auto scale = b.expand(b.param(3), d.kernel[sum.x].type.dims);
    const auto y = b.reduce(ReduceOp::sum, b.binary(BinaryOp::mul, sum.x, scale), sum.over);
    d.kernel.outputs.front().value = y;
    EXPECT_EQ(ir::verify(d.kernel), "");
    EXPECT_NE(d.source().find("Reduced<Sum, 4, 8>"), std::string::npos) << d.source();
    EXPECT_EQ(d.source().find("feature"), std::string::npos) << d.source();
}

TEST(Strips, HoldNoMoreThanRegistersDo) {
    const auto line = [](std::int64_t taps) {
        const std::string source = Depthwise("wide", true, 4096, 1, taps).source();
        const auto at = source.find("Line<");
        return at == std::string::npos ? "none" : source.substr(at, source.find('>', at) - at + 1);
    };
    EXPECT_EQ(line(15), "Line<bf16, 8, 16>");
    EXPECT_EQ(line(29), "Line<bf16, 4, 32>");
    EXPECT_EQ(line(91), "Line<bf16, 2, 92>");
    EXPECT_EQ(line(120), "none");
}

}  // namespace
}  // namespace fact::lower

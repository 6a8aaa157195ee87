// Whole rows in one thread, where neighbouring rows are neighbours in memory.
#include "golden_kernel.h"
#include "ir/extents.h"

namespace fact::lower {
namespace {

struct Columns {
    ir::Kernel kernel;
    ir::Builder b{kernel};

    ir::ExprId param(const std::string& name, DType dtype, std::vector<ir::DimId> dims) {
        kernel.params.push_back({name, {dtype, std::move(dims)}, {}});
        return b.param(static_cast<std::uint32_t>(kernel.params.size() - 1));
    }
    void output(const std::string& name, DType dtype, ir::ExprId value) {
        kernel.outputs.push_back({{name, {dtype, kernel[value].type.dims}, {}}, value});
    }
    // What becomes of it at these extents.
    std::string source(std::vector<std::int64_t> extents, std::vector<int> alignment = {}) const {
        const auto lowered =
            lower_rows(kernel, {"sm90a", std::move(extents), std::move(alignment)});
        return lowered ? lowered->source : lowered.error().text();
    }
};

// The least of each pixel's channels, less what its column is scaled by: one pass, and one value of
// each neighbour written.
Columns least_channel(DType dtype) {
    Columns f;
    f.kernel.name = "least_channel";
    const auto b = f.kernel.dim("B"), c = f.kernel.dim("C"), p = f.kernel.dim("P");
    const auto x = f.param("x", dtype, {b, c, p});
    const auto w = f.param("w", DType::f32, {p});
    const auto scaled = f.b.binary(ir::BinaryOp::mul, x, w);
    const auto least = f.b.reduce(ir::ReduceOp::min, scaled, {c});
    f.output("y", dtype, f.b.unary(ir::UnaryOp::tanh, f.b.binary(ir::BinaryOp::sub, least, w)));
    return f;
}

TEST(LowerColumns, SeveralInAThread) {
    expect_golden_kernel(least_channel(DType::f32).kernel,
                         {.arch = "sm90a", .extents = {64, 77, 10000}});
}

// y = softmax of the channels of (h, w) and of their coordinate, and its largest, whose rows a
// thread keeps in registers.
TEST(LowerColumns, OddRowsAreHeldAlone) {
    Columns f;
    f.kernel.name = "spread_channels";
    const auto b = f.kernel.dim("B"), c = f.kernel.dim("C"), s = f.kernel.dim("S"),
               p = f.kernel.dim("P");
    const auto x = f.param("x", DType::f32, {b, c, s, p});
    const auto bias = f.param("bias", DType::f32, {c});
    const auto at = f.b.cast(DType::f32, f.b.index(p));
    const auto moved = f.b.binary(ir::BinaryOp::add, f.b.binary(ir::BinaryOp::add, x, bias), at);
    const auto most = f.b.reduce(ir::ReduceOp::max, moved, {c, s});
    const auto e = f.b.unary(ir::UnaryOp::exp, f.b.binary(ir::BinaryOp::sub, moved, most));
    f.output("y", DType::f32,
             f.b.binary(ir::BinaryOp::div, e, f.b.reduce(ir::ReduceOp::sum, e, {c, s})));
    f.output("most", DType::f32, most);
    expect_golden_kernel(f.kernel, {.arch = "sm90a", .extents = {128, 24, 5, 1001}});
    // Rows of even length are read in pairs if a thread can hold two.
    EXPECT_NE(f.source({128, 24, 5, 1002}).find("Columns<1>"), std::string::npos);
    EXPECT_NE(f.source({300, 6, 5, 1002}).find("Columns<2>"), std::string::npos);
}

TEST(LowerColumns, AsManyAsLengthAndAlignmentAllow) {
    const Columns f = least_channel(DType::f32), narrow = least_channel(DType::bf16);
    const auto has = [](const std::string& source, const std::string& part) {
        return source.find(part) != std::string::npos;
    };
    EXPECT_TRUE(has(f.source({640, 64, 1000}), "Columns<4>"));
    EXPECT_TRUE(has(f.source({640, 64, 1002}), "Columns<2>"));
    EXPECT_TRUE(has(f.source({640, 64, 1001}), "Columns<1>"));
    EXPECT_TRUE(has(f.source({640, 64, 1000}, {8}), "Columns<2>"));
    EXPECT_TRUE(has(f.source({640, 64, 1000}, {16, 16, 4}), "Columns<1>"));
    EXPECT_TRUE(has(narrow.source({6400, 64, 1000}), "Columns<8>"));
    // Fewer threads would leave the GPU idle.
    EXPECT_TRUE(has(f.source({100, 64, 1000}), "Columns<1>"));
    EXPECT_TRUE(has(f.source({10, 64, 1000}), "ColumnRow"));
    // A block's threads share long rows.
    EXPECT_TRUE(has(f.source({640, 512, 1000}), "Columns<4>"));
    EXPECT_TRUE(has(f.source({640, 513, 1000}), "ColumnRow"));
    EXPECT_TRUE(has(f.source({ir::kUnknownExtent, 64, 1000}), "ColumnRow"));
}

}  // namespace
}  // namespace fact::lower

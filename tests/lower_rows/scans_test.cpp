// Which running sums one row kernel computes; tests/dsl/golden/scans.fact shows what is emitted.
#include "golden_kernel.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::Builder;
using ir::DimId;
using ir::ExprId;
using ir::ReduceOp;
using ir::ScanOp;

struct ScanFixture {
    ir::Kernel kernel;
    Builder b{kernel};
    DimId m = kernel.dim("M"), n = kernel.dim("64");
    ExprId x = (kernel.params = {{"x", {DType::f32, {m, n}}, {}}}, b.param(0));

    ScanFixture() { kernel.name = "f"; }
    ExprId running(ExprId of) { return b.scan(ScanOp::sum, of, {n}); }
    ExprId sum(ExprId of) { return b.reduce(ReduceOp::sum, of, {n}); }
    // The emitted source, or why there is none.
    std::string lowered(ExprId value) {
        kernel.outputs = {{{"y", {DType::f32, kernel[value].type.dims}, {}}, value}};
        EXPECT_EQ(ir::verify(kernel), "");
        const auto result = lower_rows(kernel, {"sm90a"});
        return result ? result->source : result.error().message;
    }
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(LowerScans, OneWithStatisticsBeforeAndPointwiseWorkAfter) {
    ScanFixture f;
    const ExprId shares = f.b.binary(BinaryOp::div, f.x, f.sum(f.x));
    const auto source = f.lowered(f.b.binary(BinaryOp::mul, f.running(shares), f.x));
    EXPECT_TRUE(has(source, "Row::reduce<Sum>")) << source;
    EXPECT_TRUE(has(source, "Row::scan<Sum>")) << source;
}

TEST(LowerScans, AFlipTurnsItAround) {
    ScanFixture f;
    const auto twice = f.lowered(f.b.flip(f.running(f.b.flip(f.x, f.n)), f.n));
    EXPECT_TRUE(has(twice, "int64_t{64} - 1 - at")) << twice;
    EXPECT_FALSE(has(twice, "63 -")) << "x is read where y is written: " << twice;
    ScanFixture g;
    const auto once = g.lowered(g.b.flip(g.running(g.x), g.n));
    EXPECT_TRUE(has(once, "int64_t{64} - 1 - at")) << once;
    EXPECT_TRUE(has(once, "args.x(m, 63 - c64)")) << once;
}

// As torch computes them: parts of a product may exceed f32's range where the whole does not.
TEST(LowerScans, ProductsOfColumnsGoOneByOne) {
    for (const ScanOp op : {ScanOp::sum, ScanOp::product}) {
        ScanFixture f;
        f.n = f.kernel.dim("N"), f.kernel.params[0].type.dims = {f.m, f.n};
        f.kernel.exprs.clear();
        const auto source = f.lowered(f.b.scan(op, f.b.param(0), {f.m}));
        EXPECT_TRUE(has(source, op == ScanOp::sum ? "ColumnScan" : "ThreadScan")) << source;
    }
}

TEST(LowerScans, NotTwo) {
    ScanFixture f;
    EXPECT_TRUE(has(f.lowered(f.running(f.running(f.x))), "two running sums"));
}

TEST(LowerScans, NotOneThatIsReduced) {
    ScanFixture f;
    EXPECT_TRUE(has(f.lowered(f.sum(f.running(f.x))), "a reduction of a running sum"));
}

TEST(LowerScans, NotBesideItsFlip) {
    ScanFixture f;
    const ExprId running = f.running(f.x);
    const auto why = f.lowered(f.b.binary(BinaryOp::sub, running, f.b.flip(running, f.n)));
    EXPECT_TRUE(has(why, "two running sums")) << why;  // each way is one of its own
}

TEST(LowerScans, NoFlipOfOneAlongSeveralDimensions) {
    ScanFixture f;
    const ExprId both = f.b.scan(ScanOp::sum, f.x, {f.m, f.n});
    EXPECT_TRUE(has(f.lowered(f.b.flip(both, f.n)), "along several dimensions"));
}

}  // namespace
}  // namespace fact::lower

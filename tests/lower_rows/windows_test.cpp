// Row kernels that read windows of a tensor.
#include "golden_kernel.h"
#include "ir/extents.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::Builder;
using ir::ReduceOp;

// A kernel with the sum over windows of three along H.
ir::Kernel windows_of(bool merged) {
    ir::Kernel kernel;
    kernel.name = "windows";
    Builder b(kernel);
    const auto n = kernel.dim("B"), h = kernel.dim("H"), taps = kernel.dim("3");
    kernel.dims.push_back({"P", {}, {}, ir::WindowRule{h, taps, 2, 1, 1, 1}});
    const auto places = kernel.dim("P"), both = kernel.factored_dim({n, h});
    kernel.params = {{"x", {DType::f32, merged ? std::vector{both} : std::vector{n, h}}, {}},
                     {"s", {DType::f32, {n}}, {}}};
    const auto x = b.view(b.param(0), {n, h});
    const auto sum = b.reduce(ReduceOp::sum, b.window(x, {places}), {taps});
    const auto y = b.binary(BinaryOp::mul, sum, b.param(1));
    kernel.outputs = {{{"y", {DType::f32, {n, places}}, {}}, y}};
    return kernel;
}

TEST(LowerRows, FindsWindowsByConstants) {
    ir::Kernel kernel = windows_of(false);
    RowsFacts facts{"sm90a", std::vector<std::int64_t>(kernel.dims.size(), ir::kUnknownExtent)};
    facts.extents[ir::index(kernel.dim("B"))] = 7;
    facts.extents[ir::index(kernel.dim("H"))] = 100;
    ASSERT_EQ(ir::solve_extents(kernel, facts.extents), "");
    expect_golden_kernel(kernel, facts);
    facts.extents[ir::index(kernel.dim("B"))] = std::int64_t{1} << 30;  // too many for 32 bits
    const auto lowered = lower_rows(kernel, facts);
    ASSERT_TRUE(lowered.ok());
    EXPECT_NE(lowered->source.find("int64_t row"), std::string::npos) << lowered->source;
}

TEST(LowerRows, WindowsGoOverWholeDimensions) {
    const auto lowered = lower_rows(windows_of(true), {"sm90a"});
    ASSERT_FALSE(lowered.ok());
    EXPECT_NE(lowered.error().text().find("windows over a part of a tensor's dimension"),
              std::string::npos);
}

// The window goes over two dimensions of the tensor's factored one, and leaves out its ends.
TEST(LowerRows, CutsAFactoredDimension) {
    ir::Kernel kernel;
    kernel.name = "cut";
    Builder b(kernel);
    const auto n = kernel.dim("B"), i = kernel.dim("I"), a = kernel.dim("2"), e = kernel.dim("1");
    const auto all = kernel.factored_dim({i, a});
    kernel.dims.push_back({"P", {}, {}, ir::WindowRule{all, e, 1, 1, -1, -1}});
    const auto places = kernel.dim("P");
    kernel.params = {{"x", {DType::f32, {n, all}}, {}}};
    const auto y = b.reduce(ReduceOp::max, b.window(b.param(0), {places}), {e});
    kernel.outputs = {{{"y", {DType::f32, {n, places}}, {}}, y}};
    RowsFacts facts{"sm90a", std::vector<std::int64_t>(kernel.dims.size(), ir::kUnknownExtent)};
    facts.extents[ir::index(n)] = 7;
    facts.extents[ir::index(i)] = 50;
    ASSERT_EQ(ir::solve_extents(kernel, facts.extents), "");
    expect_golden_kernel(kernel, facts);
}

}  // namespace
}  // namespace fact::lower

// Extents that follow from products of dimensions, in whichever stage needs them.
#include <gtest/gtest.h>

#include "ir/kernel.h"
#include "lower/pipeline/lower.h"
#include "lower/record/extent_terms.h"
#include "lower/record/record_parts.h"

namespace fact::lower {
namespace {

// G is a dimension of w, so that D follows from x[M, G*D], and H from z[D*H].
struct Products {
    ir::Kernel kernel;
    ir::DimId m = kernel.dim("M"), g = kernel.dim("G"), d = kernel.dim("D"), h = kernel.dim("H");
    ir::DimId gd = kernel.factored_dim({g, d}), dh = kernel.factored_dim({d, h});

    Products() {
        kernel.name = "products";
        kernel.params = {{"x", {DType::f32, {m, gd}}, {}},
                         {"w", {DType::f32, {g}}, {}},
                         {"z", {DType::f32, {dh}}, {}}};
    }
};

TEST(ExtentTerms, FactorsFollowFromProducts) {
    const Products p;
    const ExtentTerms terms(p.kernel);
    EXPECT_EQ(terms.extent(p.d), (ExtentField{{{0, 1}}, 1, 1, {{1, 0}}}));
    EXPECT_EQ(terms.extent(p.h), (ExtentField{{{2, 0}, {1, 0}}, 1, 1, {{0, 1}}}));
    EXPECT_EQ(extent_of(p.kernel, {p.g, p.d}), (ExtentField{{{0, 1}}}));  // G cancels
    EXPECT_EQ(terms.rule(p.gd), (ExtentRule{{{{0, 1}}}, {{{1, 0}}}, true}));
    EXPECT_EQ(terms.rule(p.dh), (ExtentRule{{{{2, 0}}}, {{{0, 1}}, 1, 1, {{1, 0}}}, true}));
}

TEST(ExtentTerms, ASecondProductMustAgree) {
    Products p;
    p.kernel.params.push_back({"again", {DType::f32, {p.kernel.factored_dim({p.h, p.m})}}, {}});
    const ExtentTerms terms(p.kernel);
    const ExtentRule rule = terms.rule(p.kernel.dim("H*M")).value();
    EXPECT_FALSE(rule.multiple);
    EXPECT_EQ(rule.extent, (ExtentField{{{2, 0}, {1, 0}, {0, 0}}, 1, 1, {{0, 1}}}));
}

TEST(ExtentTerms, MultiplesAreRulesOfTheRecord) {
    Products p;
    p.kernel.multiples = {{p.m, 8}, {p.d, 4}};
    LaunchRecord record;
    bind_tensors(p.kernel, record);
    ASSERT_EQ(record.extent_rules.size(), 4u);
    EXPECT_EQ(record.extent_rules[2], (ExtentRule{{{{0, 0}}}, {{}, 8}, true}));
    EXPECT_EQ(record.extent_rules[3], (ExtentRule{{{{0, 1}}, 1, 1, {{1, 0}}}, {{}, 4}, true}));
}

TEST(ExtentTerms, ConstantsThatMakeNoIntAreReadOffTheTensors) {
    ir::Kernel kernel;
    const std::vector<ir::DimId> dims{kernel.dim("65536"), kernel.dim("65535"), kernel.dim("4")};
    kernel.params = {{"x", {DType::i8, dims}, {}}};
    EXPECT_EQ(extent_of(kernel, {dims[0], dims[2]}), (ExtentField{{}, 1 << 18}));
    EXPECT_EQ(extent_of(kernel, dims), (ExtentField{{{0, 1}}, 1 << 18}));
}

// A product whose factors only another stage takes apart is one dimension here.
TEST(ExtentTerms, AProductMayStayWhole) {
    ir::Kernel kernel;
    const auto m = kernel.dim("M"), gd = kernel.factored_dim({kernel.dim("G"), kernel.dim("D")});
    kernel.params = {{"x", {DType::f32, {m, gd}}, {}}};
    EXPECT_EQ(ExtentTerms(kernel).extent(gd), (ExtentField{{{0, 1}}}));
    EXPECT_FALSE(ExtentTerms(kernel).rule(gd));
}

// P is cut out of I*2, which no tensor has, and O are windows of P: 2 * H - 1, and half of that.
TEST(ExtentTerms, WindowsOfAMultipleOfAnExtent) {
    ir::Kernel kernel;
    const auto h = kernel.dim("H"), two = kernel.dim("2"), one = kernel.dim("1");
    kernel.dims.push_back({"I", {}, {}, ir::WindowRule{h, two, 1, 1, 0, 1}});
    const auto all = kernel.factored_dim({kernel.dim("I"), two});
    kernel.dims.push_back({"P", {}, {}, ir::WindowRule{all, one, 1, 1, 0, -1}});
    kernel.dims.push_back({"O", {}, {}, ir::WindowRule{kernel.dim("P"), two, 2, 1, 0, 0}});
    kernel.params = {{"x", {DType::f32, {h}}, {}}};
    const ExtentTerms terms(kernel);
    EXPECT_EQ(terms.extent(kernel.dim("P")), (ExtentField{{{0, 0, -1, 1, 2}}}));
    const ExtentField halved = terms.extent(kernel.dim("O"));
    ASSERT_EQ(halved.dims.size(), 1u);
    EXPECT_EQ(halved.dims[0].of(10), 9);
}

// A later stage has P = I*A as one dimension, and not H, which I is made of.
TEST(ExtentTerms, FactorsFollowWhereTheirWindowsAreUnknown) {
    ir::Kernel kernel;
    const auto h = kernel.dim("H"), two = kernel.dim("2");
    kernel.dims.push_back({"I", {}, {}, ir::WindowRule{h, two, 1, 1, 0, 1}});
    const auto all = kernel.factored_dim({kernel.dim("I"), two});
    kernel.params = {{"x", {DType::f32, {all}}, {}}};
    EXPECT_EQ(ExtentTerms(kernel).extent(kernel.dim("I")), (ExtentField{{{0, 0}}, 1, 2}));
}

// Only w tells how G*D comes apart, but the stage that copies x does not read it.
TEST(ExtentTerms, AStageIsGivenWhatTellsItsExtents) {
    ir::Kernel kernel;
    kernel.name = "apart";
    ir::Builder b(kernel);
    const auto m = kernel.dim("M"), g = kernel.dim("G"), d = kernel.dim("D"), n = kernel.dim("N");
    kernel.params = {{"x", {DType::bf16, {m, kernel.factored_dim({g, d})}}, {}},
                     {"w", {DType::bf16, {g, n, d}}, {}}};
    const auto x = b.permute(b.view(b.param(0), {m, g, d}), {g, m, d});
    const auto y = b.product(x, b.transpose(b.param(1)));
    kernel.outputs.push_back({{"y", {DType::bf16, kernel[y].type.dims}, {}}, y});
    ASSERT_EQ(ir::verify(kernel), "");
    const auto pipeline = cut(kernel, {});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    ASSERT_EQ(pipeline->stages.size(), 2u);
    EXPECT_EQ(pipeline->stages[0].params, (std::vector<int>{0, 1}));
    EXPECT_TRUE(ir::is_read(pipeline->stages[0].kernel, 0));
    EXPECT_FALSE(ir::is_read(pipeline->stages[0].kernel, 1));
    const auto lowered = lower(kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
}

}  // namespace
}  // namespace fact::lower

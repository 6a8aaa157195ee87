// Errors that are small beside a whole output and large beside a part of it.
#include "torch/difference.h"

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

namespace fact::exec {
namespace {

Slices slices(const at::Tensor& exact, const at::Tensor& eager, const Tensors& moved,
              const verify::Grain& grain) {
    return Slices(exact, eager, grain, moved.size(), [&](std::size_t i) { return moved[i]; });
}

// What f64, eager and a kernel with nothing wrong in it make of the same numbers.
struct Answers {
    at::Tensor exact, eager, moved, kernel;
    DType dtype = DType::bf16;

    Slices::Worst worst() const {
        return slices(exact, eager, {moved}, verify::grain_of(dtype, false))
            .worst(exact, eager, kernel);
    }
    // What is said of the whole output.
    std::string whole() const {
        return verify::judge(difference(exact, eager, eager), difference(exact, kernel, eager),
                             dtype);
    }
};

Answers rounded(const at::Tensor& exact) {
    const auto moved =
        exact.mul(at::randn(exact.sizes(), exact.options()).sign().mul(0x1p-9).add(1));
    const auto eager = exact.to(at::kBFloat16);
    return {exact, eager, moved, eager.clone()};
}

at::Tensor normal(at::IntArrayRef sizes) {
    return at::randn(sizes, at::kDouble);
}

// Rows as causal attention has them: the later, the smaller.
at::Tensor averages(std::int64_t rows, std::int64_t columns) {
    return normal({2, rows, columns})
        .div_(at::arange(1, rows + 1, at::kDouble).sqrt().view({-1, 1}));
}

class SlicesOf : public testing::Test {
  protected:
    void SetUp() override { at::manual_seed(1); }
};

TEST_F(SlicesOf, ARoundingPasses) {
    for (const auto& sizes :
         {std::vector<std::int64_t>{64, 128}, {2, 3, 50, 8}, {1000}, {300, 1}, {7, 5}}) {
        const auto answers = rounded(normal(sizes));
        EXPECT_LT(answers.worst().share, 0.75) << sizes;
    }
    EXPECT_EQ(rounded(normal({31})).worst().share, 0);  // too few for a judgement
}

TEST_F(SlicesOf, LateRowsAreJudgedByThemselves) {
    auto answers = rounded(averages(1024, 64));
    answers.kernel.narrow(1, 1008, 16).mul_(1.05);
    EXPECT_EQ(answers.whole(), "");
    const auto worst = answers.worst();
    EXPECT_GT(worst.share, 3);
    EXPECT_EQ(worst.what.substr(0, 8), "row [0, ") << worst.what;
}

TEST_F(SlicesOf, ASmallRowAndASmallColumn) {
    for (const int dim : {0, 1}) {
        const auto exact = normal({64, 96});
        exact.select(dim, 5).mul_(0x1p-9);
        auto answers = rounded(exact);
        answers.kernel.select(dim, 5).mul_(0.9);
        EXPECT_EQ(answers.whole(), "");
        const auto worst = answers.worst();
        EXPECT_GT(worst.share, 3);
        EXPECT_EQ(worst.what.substr(0, worst.what.find(':')), dim == 0 ? "row [5]" : "column 5");
    }
}

TEST_F(SlicesOf, RowsAreThoseOfTheShapeNotOfTheMemory) {
    auto answers = rounded(normal({96, 64}).mul_(at::arange(0, 64).neg().mul(0.2).exp2()).t());
    answers.kernel.select(0, 63).mul_(0.9);
    EXPECT_EQ(answers.whole(), "");
    EXPECT_EQ(answers.worst().what.substr(0, 8), "row [63]");
}

// No row or column has more than a few of them.
TEST_F(SlicesOf, TailsAreJudgedByTheirMagnitude) {
    auto answers = rounded(normal({256, 256}).mul_(4).sigmoid());
    const auto tail = answers.exact.lt(3e-4);
    ASSERT_LT(tail.sum(1).max().item<std::int64_t>(), 20);
    answers.kernel.masked_fill_(tail, 0);
    EXPECT_EQ(answers.whole(), "");
    const auto worst = answers.worst();
    EXPECT_GT(worst.share, 3);
    EXPECT_EQ(worst.what.substr(0, 15), "elements below ") << worst.what;
}

// A row of differences: its own values say nothing of what their errors may be.
TEST_F(SlicesOf, WhatCancelsMayBeOffByARoundingOfItsTerms) {
    const auto term = normal({64, 128}), exact = normal({64, 128});
    exact.select(0, 7).mul_(0x1p-12);
    auto answers = rounded(exact);
    answers.moved = exact.add(term.mul(0x1p-9));
    const auto noise = normal({64, 128}).mul_(0x1p-10);
    answers.kernel = exact.add(noise).to(at::kBFloat16);
    EXPECT_LT(answers.worst().share, 1);
    answers.moved = exact;
    EXPECT_GT(answers.worst().share, 3);
}

// All rows are alike, so that one rounding of a column's weights moves the whole column: by chance
// as little in four trials as another rounding moves it much.
TEST_F(SlicesOf, ColumnsThatShareTheirRoundingsAreJudgedByTheirRows) {
    const std::int64_t rows = 40, columns = 20000;
    const auto shared = [&](double size) {
        return normal({1, columns}).mul_(size).expand({rows, columns});
    };
    const auto exact = normal({rows, columns}).mul_(0x1p-5).add_(shared(1));
    const auto eager = exact.to(at::kBFloat16);
    const auto kernel = exact.add(shared(0x1p-9)).to(at::kBFloat16);
    Tensors moved;
    for (int i = 0; i < 4; ++i) moved.push_back(exact.add(shared(0x1p-9)));
    const auto made = slices(exact, eager, moved, verify::grain_of(DType::bf16, false));
    EXPECT_LT(made.worst(exact, eager, kernel).share, 1);
    kernel.select(0, 7).mul_(1.03);
    const auto worst = made.worst(exact, eager, kernel);
    EXPECT_GT(worst.share, 1);
    EXPECT_EQ(worst.what.substr(0, 7), "row [7]") << worst.what;

    // Moved one element at a time they are judged, and that kernel is thrown out.
    for (auto& one : moved) one = exact.add(normal({rows, columns}).mul_(0x1p-9));
    const auto found = slices(exact, eager, moved, verify::grain_of(DType::bf16, false))
                           .worst(exact, eager, exact.add(shared(0x1p-9)).to(at::kBFloat16));
    EXPECT_EQ(found.what.substr(0, 7), "column ") << found.what;
    EXPECT_GT(found.share, 1);
}

// Where all but a few are zero, in every computation, those few are no sample.
TEST_F(SlicesOf, AFewNumbersAmongZerosAreNotJudged) {
    auto answers = rounded(normal({64, 64}));
    for (auto* all : {&answers.exact, &answers.eager, &answers.moved, &answers.kernel})
        all->narrow(0, 32, 32).zero_();
    for (auto* all : {&answers.exact, &answers.eager, &answers.moved}) (*all)[40][3] = 1e-3;
    answers.kernel[40][3] = 1.2e-3;
    EXPECT_LT(answers.worst().share, 0.75);
}

// Where nearly all of a row is known exactly, the others' errors differ by chance.
TEST_F(SlicesOf, ErrorsOfAFewMayBeSeveralTimesAsLarge) {
    const auto exact = normal({64, 64}).abs_().add_(1);
    // Errors are about 1e-2, in row 7 those of the first `carriers` elements alone. There eager's
    // are a tenth of that, and the kernel's `times` as large.
    const auto worst = [&](std::int64_t carriers, double times) {
        const auto errors = [&](double size) {
            auto off = normal({64, 64}).mul_(size);
            off.select(0, 7).narrow(0, carriers, 64 - carriers).zero_();
            return off;
        };
        const auto eagers = errors(1e-2), kernels = errors(1e-2);
        eagers.select(0, 7).mul_(0.1);
        kernels.select(0, 7).mul_(times);
        const auto eager = exact.add(eagers).to(at::kFloat);
        Tensors moved;
        for (int i = 0; i < 4; ++i) moved.push_back(exact.add(errors(1e-3)));
        return slices(exact, eager, moved, verify::grain_of(DType::f32, false))
            .worst(exact, eager, exact.add(kernels).to(at::kFloat));
    };
    EXPECT_LT(worst(3, 1).share, 1) << worst(3, 1).what;
    EXPECT_GT(worst(3, 30).share, 1);
    const auto many = worst(40, 1);
    EXPECT_GT(many.share, 1);
    EXPECT_EQ(many.what.substr(0, 7), "row [7]") << many.what;
}

TEST_F(SlicesOf, WhatOverflowsIsLeftOut) {
    auto answers = rounded(normal({64, 64}));
    answers.exact[3][4] = 1e39;
    answers.eager[3][4] = std::numeric_limits<float>::infinity();
    answers.kernel[3][4] = 7;
    EXPECT_LT(answers.worst().share, 0.75);
    answers.moved[5] = std::numeric_limits<double>::quiet_NaN();  // anything may come of that row
    answers.kernel[5].mul_(1.5);
    EXPECT_LT(
        slices(answers.exact, answers.eager, {answers.moved}, verify::grain_of(DType::bf16, false))
            .worst(answers.exact, answers.eager, answers.eager)
            .share,
        0.75);
}

TEST_F(SlicesOf, IntegersAreJudgedAsAWhole) {
    const auto exact = at::arange(0, 64).view({8, 8});
    EXPECT_EQ(slices(exact, exact, {exact}, verify::grain_of(DType::i64, false))
                  .worst(exact, exact, exact.add(1))
                  .share,
              0);
}

// Second rows of causal attention: two values, weighted. Operands and weights have eleven bits.
at::Tensor weighted(const at::Tensor& weight, const at::Tensor& values, double grid) {
    const auto coarse = [&](const at::Tensor& x) {
        return grid > 0 ? x.mul(grid).to(at::kHalf).to(at::kDouble).div(grid) : x;
    };
    return coarse(weight)
        .mul(coarse(values.select(0, 0)))
        .add(coarse(weight.neg().add(1)).mul(coarse(values.select(0, 1))));
}

TEST_F(SlicesOf, ShortSumsOfTf32AreJudgedByItsBits) {
    const auto weight = normal({20000, 1}).sigmoid(), values = normal({2, 20000, 96});
    Answers answers;
    answers.dtype = DType::f32;
    answers.exact = weighted(weight, values, 0);
    answers.eager = weighted(weight, values, 1).to(at::kFloat);
    answers.kernel = weighted(weight, values, 0.75).to(at::kFloat);  // rounds elsewhere
    EXPECT_EQ(answers.whole(), "");
    const auto worst = [&](bool tf32) {
        const auto grain = verify::grain_of(DType::f32, tf32);
        const auto away = at::randn(values.sizes(), values.options()).sign().mul(grain.rounding);
        const auto moved = weighted(weight, values.mul(away.add(1)), 0);
        return slices(answers.exact, answers.eager, {moved}, grain)
            .worst(answers.exact, answers.eager, answers.kernel)
            .share;
    };
    EXPECT_GT(worst(false), 1) << "eager is lucky somewhere";
    EXPECT_LT(worst(true), 1);
    answers.kernel.narrow(0, 1000, 8).mul_(1.005);
    EXPECT_GT(worst(true), 1) << "eight rows are off";
}

}  // namespace
}  // namespace fact::exec

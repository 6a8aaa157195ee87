// Windows over what is computed: what is stored before them, and the numbers they see.
#include "lower/pipeline/windows.h"

#include <gtest/gtest.h>

#include <random>

#include "convolution.h"
#include "ir/interpreter.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::ReduceOp;

// The largest of 2 x 2 elements of a convolution's result, from which a mean is subtracted.
struct Pooled : Convolution {
    enum class Mean { of_images, none };

    explicit Pooled(Mean mean) : Convolution("pooled", 4) {
        ir::ExprId x = result();
        if (mean == Mean::of_images) {
            const ir::ExprId sum = b.reduce(ReduceOp::sum, x, {p, q});
            x = b.binary(BinaryOp::sub, x, b.binary(BinaryOp::div, sum, b.extent(q)));
        }
        x = b.binary(BinaryOp::mul, x, param("scale", DType::f32, {f}));
        const ir::DimId t = named("T", 2), u = named("U", 2);
        kernel.dims.push_back({"P2", {}, {}, ir::WindowRule{p, t, 2, 1, 0, 0}});
        kernel.dims.push_back({"Q2", {}, {}, ir::WindowRule{q, u, 2, 1, 0, 0}});
        const ir::ExprId windows = b.window(x, {kernel.dim("P2"), kernel.dim("Q2")});
        output("y", DType::f32, b.reduce(ReduceOp::max, windows, {t, u}));
        EXPECT_EQ(ir::verify(kernel), "");
    }
};

std::vector<std::string> stored(const ir::Kernel& kernel) {
    const Pipeline pipeline = *stages(kernel, {});
    std::vector<std::string> all;
    for (const ir::Tensor& tensor : pipeline.intermediates) {
        std::string dims;
        for (const ir::DimId dim : pipeline.kernel.factors(tensor.type.dims))
            dims += pipeline.kernel[dim].name;
        all.push_back(dims);
    }
    return all;
}

// What is normalised has to be in memory, since its statistics read it: windows look at it there,
// and what is normalised is not stored again.
TEST(Windows, OfANormLookAtWhatIsNormalised) {
    const auto names = stored(Pooled(Pooled::Mean::of_images).kernel);
    EXPECT_EQ(std::ranges::count(names, "BFPQ"), 1);
    EXPECT_EQ(std::ranges::count(names, "BF"), 1);
}

TEST(Windows, OfAProductLookAtItsResult) {
    EXPECT_EQ(std::ranges::count(stored(Pooled(Pooled::Mean::none).kernel), "BFPQ"), 1);
}

TEST(Windows, SeeTheSameNumbersWhereTheyAreMoved) {
    constexpr std::int64_t kImages = 2, kFeatures = 3, kHeight = 6, kWidth = 5;
    const Pooled pooled(Pooled::Mean::of_images);
    const ir::Kernel moved = windows_at_leaves(pooled.kernel, {});
    EXPECT_EQ(ir::verify(moved), "");
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    using Numbers = std::vector<double>;
    const auto random = [&](std::int64_t count) {
        Numbers numbers(static_cast<std::size_t>(count));
        for (double& number : numbers) number = normal(generator);
        return numbers;
    };
    Numbers x = random(kImages * 4 * kHeight * kWidth), w = random(kFeatures * 36),
            bias = random(kFeatures), scale = random(kFeatures);
    const auto run = [&](const ir::Kernel& kernel) {
        Numbers y(kImages * kFeatures * 6);
        const auto done = ir::interpret(
            kernel,
            std::vector<ir::TensorView>{
                {x.data(), DType::f64, {kImages, 4, kHeight, kWidth}, {120, 30, 5, 1}},
                {w.data(), DType::f64, {kFeatures, 4, 3, 3}, {36, 9, 3, 1}},
                {bias.data(), DType::f64, {kFeatures}, {1}},
                {scale.data(), DType::f64, {kFeatures}, {1}}},
            std::vector<ir::TensorView>{
                {y.data(), DType::f64, {kImages, kFeatures, 3, 2}, {18, 6, 2, 1}}});
        EXPECT_TRUE(done.ok()) << done.error().text();
        return y;
    };
    EXPECT_EQ(run(pooled.kernel), run(moved));
}

}  // namespace
}  // namespace fact::lower

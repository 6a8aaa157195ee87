// Products of weights and activations that are contiguous along the columns are transposed.
#include "lower/pipeline/weights_second.h"

#include <gtest/gtest.h>

#include "built_kernel.h"
#include "ir/extents.h"
#include "lower/pipeline/lower.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;

// y[B, M, N] = relu(w[M, K] @ x[B, K, N] + bias[M]), a convolution of single pixels.
struct Pixels : Fixture {
    DimId batch = kernel.dim("B");

    explicit Pixels(DType dtype, bool along_k = false) : Fixture("pixels") {
        const ExprId w = param("w", dtype, {m, k});
        const ExprId x = along_k ? b.transpose(param("x", dtype, {batch, n, k}))
                                 : param("x", dtype, {batch, k, n});
        const auto precision = dtype == DType::f32 ? ir::Precision::tf32 : ir::Precision::exact;
        const ExprId acc = b.product(w, x, precision);
        const ExprId sum = b.binary(BinaryOp::add, acc, param("bias", DType::f32, {m}));
        output("y", DType::f32, b.unary(ir::UnaryOp::relu, sum));
    }
    std::vector<std::int64_t> extents(std::int64_t columns) const {
        std::vector<std::int64_t> all(kernel.dims.size(), ir::kUnknownExtent);
        const std::pair<DimId, std::int64_t> known[] = {
            {batch, 10}, {m, 96}, {k, 480}, {n, columns}};
        for (const auto& [dim, extent] : known) all[ir::index(dim)] = extent;
        return all;
    }
    Lowered lowered(const char* arch, std::int64_t columns = 50176) const {
        LowerOptions options;
        options.arch = arch;
        options.extents = extents(columns);
        auto result = lower(kernel, options);
        EXPECT_TRUE(result.ok()) << result.error().text();
        return *result;
    }
};

// What is prepared are the weights, once; rows of the product, which are neighbours in memory, are
// stored together.
TEST(WeightsSecond, OfAConvolutionOfSinglePixels) {
    const Lowered lowered = Pixels(DType::f32).lowered("sm90a");
    ASSERT_EQ(lowered.record.launches.size(), 3u);
    for (int pass : {0, 1})
        EXPECT_EQ(lowered.record.launches[static_cast<std::size_t>(pass)].prepares_from,
                  std::vector<int>{0});
    for (const char* part :
         {"kMajorA = Major::mn", "kStoredTogether = 4", "{map_x, map_w_rows, scales}"})
        EXPECT_NE(lowered.source.find(part), std::string::npos) << lowered.source;
    EXPECT_EQ(inconsistency(lowered.record), "");
}

// Where the images' rows are no whole vectors, where they are contiguous along K, and in 16 bits,
// the product stays as it is.
TEST(WeightsSecond, OnlyWhereImagesWouldBeCopied) {
    const Pixels odd(DType::f32), along_k(DType::f32, true), narrow(DType::bf16);
    EXPECT_EQ(with_weights_second(odd.kernel, odd.extents(49)).exprs.size(),
              odd.kernel.exprs.size());
    EXPECT_GT(with_weights_second(odd.kernel, odd.extents(52)).exprs.size(),
              odd.kernel.exprs.size());
    for (const Pixels* same : {&along_k, &narrow})
        EXPECT_EQ(with_weights_second(same->kernel, same->extents(50176)).exprs.size(),
                  same->kernel.exprs.size());
    EXPECT_EQ(Pixels(DType::f32).lowered("sm80").record.launches.size(), 1u);
}

}  // namespace
}  // namespace fact::lower

// Rows that several thread blocks hold in their registers.
#include <gtest/gtest.h>

#include "ir/kernel.h"
#include "lower/rows/lower.h"

namespace fact::lower {
namespace {

// Rows that no thread block holds have a cluster, as small a one as holds them; few rows have
// larger ones. A batch norm's rows are pieces, one of each image.
TEST(Clusters, HoldLongRowsThatMayBeInPieces) {
    ir::Kernel kernel;
    ir::Builder build(kernel);
    kernel.name = "below_max";
    const auto m = kernel.dim("M"), n = kernel.dim("N"), k = kernel.dim("K");
    kernel.params.push_back({"x", {DType::f32, {k, m, n}}, {}});
    const auto x = build.param(0);
    const auto most = build.reduce(ir::ReduceOp::max, x, {k, n});
    const auto below = build.binary(ir::BinaryOp::sub, x, most);
    kernel.outputs.push_back({{"y", {DType::f32, {k, m, n}}, {}}, below});
    struct Case {
        std::vector<std::int64_t> extents;  // of M, N, K
        const char *shape, *x;
        int blocks;
    };
    for (const Case& c :
         {Case{{4096, 131072, 1}, "VectorRow<131072, 4, 512, false, 8>", "pieces<131072>", 8},
          Case{{4096, 16384, 16}, "VectorRow<262144, 4, 512, false, 16>", "pieces<16384>", 16},
          Case{{64, 3136, 10}, "VectorRow<31360, 4, 1024, false, 2>", "pieces<3136>", 2},
          Case{{512, 49, 10}, "VectorRow<490, 1, 32, true>", "pieces<49>", 1}}) {
        SCOPED_TRACE(c.shape);
        const auto lowered = lower_rows(kernel, {"sm90a", c.extents});
        ASSERT_TRUE(lowered.ok());
        for (const char* part : {c.shape, c.x})
            EXPECT_NE(lowered->source.find(part), std::string::npos) << lowered->source;
        EXPECT_EQ(lowered->record.launches.front().cluster[0], c.blocks);
    }
    const auto older = lower_rows(kernel, {"sm80", {4096, 131072, 2}});
    ASSERT_TRUE(older.ok());
    EXPECT_EQ(older->record.launches.front().cluster[0], 1);
}

}  // namespace
}  // namespace fact::lower

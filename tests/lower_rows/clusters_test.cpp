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

// Channels of images that are channels last: y = x - max(x, over: [B, H, W]).
struct BelowMaxOfChannels {
    ir::Kernel kernel;
    ir::Builder build{kernel};

    BelowMaxOfChannels() {
        kernel.name = "below_max";
        const auto b = kernel.dim("B"), h = kernel.dim("H"), w = kernel.dim("W");
        const std::vector<ir::DimId> dims{b, h, w, kernel.dim("C")};
        kernel.params.push_back({"x", {DType::f32, dims}, {}});
        const auto x = build.param(0), most = build.reduce(ir::ReduceOp::max, x, {b, h, w});
        const auto below = build.binary(ir::BinaryOp::sub, x, most);
        kernel.outputs.push_back({{"y", {DType::f32, dims}, {}}, below});
    }
    Lowered lowered(std::vector<std::int64_t> extents) const {
        auto result = lower_rows(kernel, {"sm90a", std::move(extents)});
        EXPECT_TRUE(result.ok()) << result.error().text();
        EXPECT_EQ(inconsistency(result->record), "");
        return *result;
    }
};

// 32 rows share a cluster, whose number of blocks follows from their length and their number. One
// stride leads from element to element, so the launcher has to see that B, H, W and C are
// contiguous together.
TEST(Clusters, HoldRowsThatAreNeighboursInMemory) {
    const BelowMaxOfChannels apart;
    struct Case {
        std::vector<std::int64_t> extents;  // of B, H, W, C
        const char* shape;
        int blocks;
    };
    for (const Case& c : {Case{{2, 56, 56, 64}, "HeldColumns<6272, 16, 16>", 16},
                          Case{{2, 28, 28, 4096}, "HeldColumns<1568, 16, 4>", 4},
                          Case{{2, 14, 14, 40}, "HeldColumns<392, 16, 8>", 8}}) {
        SCOPED_TRACE(c.shape);
        const Lowered lowered = apart.lowered(c.extents);
        for (const char* part : {c.shape, "spaced_row(&args.x(0, 0, 0, c), args.x.strides[2])"})
            EXPECT_NE(lowered.source.find(part), std::string::npos) << lowered.source;
        const LaunchRecord& record = lowered.record;
        EXPECT_EQ(record.launches.front().cluster[0], c.blocks);
        ASSERT_EQ(record.alignments.size(), 2u);
        for (const Alignment& rule : record.alignments) EXPECT_EQ(rule.row_dims, 4);
    }
    // Others serve short rows, and long ones are cut before.
    for (const std::int64_t images : {1, 100})
        EXPECT_EQ(apart.lowered({images, 14, 14, 64}).source.find("HeldColumns"),
                  std::string::npos);
}

// A dimension of one element may have any stride.
TEST(Clusters, GoAlongDimensionsOfSeveralElements) {
    const BelowMaxOfChannels apart;
    EXPECT_NE(apart.lowered({2, 784, 1, 64}).source.find("args.x.strides[1])"), std::string::npos);
}

}  // namespace
}  // namespace fact::lower

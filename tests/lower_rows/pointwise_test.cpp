// How many thread blocks pointwise kernels have, and in which order they take rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/kernel.h"
#include "lower/rows/lower.h"

namespace fact::lower {
namespace {

// y[M, N] = -x, or x * w[N].
Lowered lowered(DType dtype, std::int64_t length, bool shared) {
    ir::Kernel kernel;
    ir::Builder b(kernel);
    kernel.name = "pointwise";
    const auto m = kernel.dim("M"), n = kernel.dim(std::to_string(length));
    kernel.params = {{"x", {dtype, {m, n}}, {}}};
    if (shared) kernel.params.push_back({"w", {dtype, {n}}, {}});
    const auto x = b.param(0);
    const auto y =
        shared ? b.binary(ir::BinaryOp::mul, x, b.param(1)) : b.unary(ir::UnaryOp::neg, x);
    kernel.outputs = {{{"y", {dtype, {m, n}}, {}}, y}};
    const auto made = lower_rows(kernel, {"sm90a"});
    EXPECT_TRUE(made.ok());
    return *made;
}

std::string grid(DType dtype, std::int64_t length, bool shared = false) {
    const auto launch = lowered(dtype, length, shared).record.launches.front();
    const auto& blocks = std::get<LinearGrid>(launch.grid);
    return fmt::format("{} a row of {} threads, waves {}", blocks.count.factor, launch.block,
                       blocks.waves);
}

// A thread block for each 4 KB, however many there are; but with what all rows share, whole rows.
TEST(PointwiseRows, BlocksAreSmall) {
    EXPECT_EQ(grid(DType::f32, 4096), "4 a row of 256 threads, waves 0");
    EXPECT_EQ(grid(DType::f32, 4096, true), "1 a row of 256 threads, waves 0");
    EXPECT_EQ(grid(DType::f32, 3072), "3 a row of 256 threads, waves 0");
    EXPECT_EQ(grid(DType::bf16, 4096), "2 a row of 256 threads, waves 0");
    EXPECT_EQ(grid(DType::f32, 512), "1 a row of 128 threads, waves 0");
    EXPECT_EQ(grid(DType::f32, 8), "1 a row of 128 threads, waves 64");
}

// What does not stay in L2 from one row to the next is read once for all rows.
TEST(PointwiseRows, ThoseThatShareMuchFollowEachOther) {
    const auto source = [](std::int64_t shared) {
        return lowered(DType::f32, shared, true).source;
    };
    EXPECT_NE(source(1 << 20).find("int const m = row % args.M;"), std::string::npos);
    EXPECT_NE(source(1 << 16).find("int const m = row / 64;"), std::string::npos);
}

}  // namespace
}  // namespace fact::lower

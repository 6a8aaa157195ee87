// Statistics of rows that a product's kernel finds itself; FACT_UPDATE_GOLDEN=1 accepts new text.
#include "lower/pipeline/statistics.h"

#include <gtest/gtest.h>

#include "../golden.h"
#include "lower/pipeline/lower.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::ExprId;
using ir::ReduceOp;
using ir::UnaryOp;

// A product of x[M, K] by w[N, K], and statistics of x.
struct NormedProduct {
    ir::Kernel kernel;
    ir::Builder b{kernel};
    ir::DimId m = kernel.dim("M"), n = kernel.dim("N"), k = kernel.dim("K");
    ExprId x, w, acc;

    explicit NormedProduct(std::string name, DType dtype = DType::bf16) {
        kernel.name = std::move(name);
        kernel.params = {{"x", {dtype, {m, k}}, {}}, {"w", {dtype, {n, k}}, {}}};
        x = b.param(0), w = b.param(1);
        acc = b.product(x, b.transpose(w));
    }
    ExprId mean(ExprId of) {
        return b.binary(BinaryOp::div, b.reduce(ReduceOp::sum, of, {k}), b.extent(k));
    }
    ExprId mean_square(ExprId of) { return mean(b.binary(BinaryOp::mul, of, of)); }
    ExprId named(ExprId id, const char* name) {
        kernel.exprs[ir::index(id)].name = name;
        return id;
    }
    ExprId inverse(ExprId square) {
        const ExprId safe = b.binary(BinaryOp::add, square, b.literal(1e-6));
        return named(b.unary(UnaryOp::rsqrt, safe), "inverse");
    }
    void output(const char* name, DType dtype, ExprId value) {
        kernel.outputs.push_back({{name, {dtype, kernel[value].type.dims}, {}}, value});
    }
    void rms_norm() {
        output("y", DType::bf16, b.binary(BinaryOp::mul, acc, inverse(mean_square(x))));
    }
};

const schedule::Schedule kWide{{128, 256, 64}, {2, 1}, schedule::Mainloop::cooperative};

LowerOptions large(const NormedProduct& f, std::int64_t depth = 4096,
                   const schedule::Schedule* schedule = &kWide) {
    LowerOptions options;
    options.schedule = [schedule](const std::string&) { return schedule; };
    options.extents.assign(f.kernel.dims.size(), 0);
    for (const auto& [dim, extent] :
         {std::pair{f.m, std::int64_t{8192}}, {f.n, 4096}, {f.k, depth}})
        options.extents[ir::index(dim)] = extent;
    return options;
}

std::size_t num_stages(const NormedProduct& f, const LowerOptions& options) {
    const auto pipeline = stages(f.kernel, options);
    EXPECT_TRUE(pipeline.ok()) << pipeline.error().text();
    return pipeline->stages.size();
}

void expect_one_kernel(const NormedProduct& f, const std::string& golden) {
    ASSERT_EQ(ir::verify(f.kernel), "");
    const auto lowered = lower(f.kernel, large(f));
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(lowered->record.launches.size(), 1u);
    EXPECT_EQ(inconsistency(lowered->record), "");
    const auto again = launch_record_from_json(to_json(lowered->record));
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(*again, lowered->record);
    expect_golden(golden + ".cu", lowered->source);
    expect_golden(golden + ".json", to_json(lowered->record));
}

TEST(Statistics, AreFoundByTheProductOfTheirRows) {
    NormedProduct f("rms_norm_linear");
    f.rms_norm();
    expect_one_kernel(f, "rms_norm_linear");
}

TEST(Statistics, AMeanAndTheDistancesFromItAreFoundTogether) {
    NormedProduct f("layer_norm_linear");
    const ExprId center = f.named(f.mean(f.x), "center");
    const ExprId inverse = f.inverse(f.mean_square(f.b.binary(BinaryOp::sub, f.x, center)));
    const ExprId moved = f.b.binary(BinaryOp::sub, f.acc, f.b.expand(center, {f.m, f.n}));
    f.output("y", DType::bf16, f.b.binary(BinaryOp::mul, moved, inverse));
    expect_one_kernel(f, "layer_norm_linear");
}

// A batch is there where something beside the product is the same for all of it.
TEST(Statistics, OfABatchAreFoundMatrixByMatrix) {
    NormedProduct f("batched");
    const ir::DimId batch = f.kernel.dim("B");
    f.kernel.params[0].type.dims = {batch, f.m, f.k};
    f.kernel.exprs.clear();
    f.x = f.b.param(0), f.w = f.b.param(1);
    f.acc = f.b.product(f.x, f.b.transpose(f.w));
    f.rms_norm();
    LowerOptions options = large(f);
    options.extents[ir::index(batch)] = 4;
    ASSERT_EQ(ir::verify(f.kernel), "");
    EXPECT_EQ(num_stages(f, options), 1u);
    const auto lowered = lower(f.kernel, options);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    const auto& found = lowered->record.workspaces.back();
    ASSERT_EQ(found.sizes.size(), 2u);
    EXPECT_EQ(found.sizes[0].dims, (std::vector<DimOf>{{2, 0}}));
    EXPECT_EQ(found.sizes[1].divisor, 16);
}

TEST(Statistics, ComeBeforeAProductThatDividesTiles) {
    NormedProduct f("rms_norm_linear");
    f.rms_norm();
    EXPECT_EQ(num_stages(f, large(f)), 1u);
    schedule::Schedule divided = kWide;
    divided.scheduler = schedule::Scheduler::splitk;
    EXPECT_EQ(num_stages(f, large(f, 4096, &divided)), 2u);
}

TEST(Statistics, OfTilesThatAreStreamed) {
    NormedProduct f("rms_norm_linear");
    f.rms_norm();
    schedule::Schedule streamed = kWide;
    streamed.scheduler = schedule::Scheduler::streamk;
    const auto lowered = lower(f.kernel, large(f, 4096, &streamed));
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(lowered->record.launches.size(), 1u);
    EXPECT_EQ(inconsistency(lowered->record), "");
    const auto says = [&](const char* text) {
        return lowered->source.find(text) != std::string::npos;
    };
    EXPECT_TRUE(says("static constexpr Deal kDeal = Deal::streamed;"));
    EXPECT_TRUE(says("Partials const partials,\n"));
    EXPECT_TRUE(says("finish, partials, statistics);"));
}

// They would keep the first epilogues waiting for longer than a kernel of their own takes.
TEST(Statistics, ComeBeforeTilesThatAreSoonDone) {
    NormedProduct f("rms_norm_linear");
    f.rms_norm();
    EXPECT_EQ(num_stages(f, large(f, 1024)), 2u);
    schedule::Schedule small = kWide;
    small.tile.n = 128;
    EXPECT_EQ(num_stages(f, large(f, 4096, &small)), 2u);
    LowerOptions few = large(f);
    few.extents[ir::index(f.m)] = 512;
    EXPECT_EQ(num_stages(f, few), 2u);
}

TEST(Statistics, ComeBeforeOtherSkeletons) {
    NormedProduct f("rms_norm_linear");
    f.rms_norm();
    LowerOptions options = large(f, 4096, nullptr);
    options.tma = false;
    EXPECT_EQ(num_stages(f, options), 2u);
    NormedProduct single("rms_norm_linear", DType::f32);
    single.rms_norm();
    EXPECT_EQ(num_stages(single, large(single, 4096, nullptr)), 2u);
}

// Squares less the mean's own lose what they differ by: only a kernel that reads rows twice may.
TEST(Statistics, OfTwoOtherSumsAreNoDistances) {
    NormedProduct f("moments");
    const ExprId center = f.mean(f.x);
    const ExprId square =
        f.b.binary(BinaryOp::sub, f.mean_square(f.x), f.b.binary(BinaryOp::mul, center, center));
    const ExprId scaled = f.b.binary(BinaryOp::mul, f.acc, f.inverse(square));
    f.output("y", DType::bf16, f.b.binary(BinaryOp::mul, scaled, center));
    EXPECT_EQ(num_stages(f, large(f)), 2u);
}

TEST(Statistics, ByAnotherExtentThanTheirOwnAreNoneOfTheirs) {
    NormedProduct f("by_rows");
    const ExprId sum = f.b.reduce(ReduceOp::sum, f.b.binary(BinaryOp::mul, f.x, f.x), {f.k});
    const ExprId inverse = f.inverse(f.b.binary(BinaryOp::div, sum, f.b.extent(f.m)));
    f.output("y", DType::bf16, f.b.binary(BinaryOp::mul, f.acc, inverse));
    EXPECT_EQ(num_stages(f, large(f)), 2u);
}

TEST(Statistics, ThatOthersReadAreWrittenForThem) {
    NormedProduct f("shown");
    const ExprId inverse = f.inverse(f.mean_square(f.x));
    f.output("y", DType::bf16, f.b.binary(BinaryOp::mul, f.acc, inverse));
    f.output("s", DType::f32, inverse);
    const auto pipeline = stages(f.kernel, large(f));
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    for (const Stage& stage : pipeline->stages) EXPECT_FALSE(stage.statistics.has_value());
}

TEST(Statistics, OfColumnsAreNotThoseOfRows) {
    NormedProduct f("columns");
    f.output("y", DType::bf16, f.b.binary(BinaryOp::mul, f.acc, f.inverse(f.mean_square(f.w))));
    EXPECT_EQ(num_stages(f, large(f)), 2u);
}

}  // namespace
}  // namespace fact::lower

#include "gpu/launch_plan.h"

#include <gtest/gtest.h>

#include <cstring>

namespace fact::gpu {
namespace {

// y[M, N] = x[M, K] @ w[N, K].T, as lower/ writes it: maps of the three, a struct of the rest.
LaunchRecord product_record() {
    LaunchRecord record;
    record.kernel = "linear";
    record.arch = "sm90a";
    record.params = {{"x", DType::bf16, 2}, {"w", DType::bf16, 2}, {"b", DType::f32, 1}};
    record.outputs = {{"y", DType::bf16, 2}};
    record.equal_extents = {{{0, 0}, {3, 0}}, {{1, 0}, {3, 1}, {2, 0}}, {{0, 1}, {1, 1}}};
    Launch launch;
    launch.entry = "linear";
    launch.grid = PersistentGrid{{{0, 0}}, {{1, 0}}, {}, 128, 256};
    launch.block = 384;
    launch.cluster = {2, 1};
    launch.params = {TensorMapParam{0, {1, 0, kNoDim, kNoDim}, {64, 128, 1, 1}},
                     TensorMapParam{1, {1, 0, kNoDim, kNoDim}, {64, 128, 1, 1}},
                     TensorMapParam{3, {1, 0, kNoDim, kNoDim}, {64, 64, 1, 1}},
                     StructParam{32,
                                 {{0, PointerField{2}},
                                  {8, ExtentField{{{0, 0}}}},
                                  {12, ExtentField{{}}},
                                  {16, StrideField{0, 0}},
                                  {24, TokenField{}}}}};
    record.launches = {launch};
    return record;
}

TensorArg tensor(DType dtype, std::vector<std::int64_t> sizes, std::uintptr_t address = 0x1000) {
    TensorArg arg;
    arg.data = reinterpret_cast<void*>(address);
    arg.dtype = dtype;
    arg.sizes = std::move(sizes);
    arg.strides.resize(arg.sizes.size());
    std::uint64_t stride = 1;  // some tests ask for more elements than fit, in which it wraps
    for (std::size_t i = arg.sizes.size(); i-- > 0;) {
        arg.strides[i] = static_cast<std::int64_t>(stride);
        stride *= static_cast<std::uint64_t>(arg.sizes[i]);
    }
    return arg;
}

std::vector<TensorArg> product_tensors(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {tensor(DType::bf16, {m, k}), tensor(DType::bf16, {n, k}),
            tensor(DType::f32, {n}, 0x1004), tensor(DType::bf16, {m, n})};
}

TEST(LaunchPlan, AcceptsWhatTmaCanAddress) {
    EXPECT_EQ(inconsistency(product_record()), "");
    EXPECT_EQ(why_refused(product_record(), product_tensors(1000, 1032, 776)), "");
    // A row of one element wide enough never steps: its stride does not matter.
    auto one_row = product_tensors(1, 1032, 776);
    one_row[0].strides[0] = 3;
    EXPECT_EQ(why_refused(product_record(), one_row), "");
}

TEST(LaunchPlan, RefusesByName) {
    const auto record = product_record();
    const auto refusal = [&](auto change) {
        auto tensors = product_tensors(512, 768, 256);
        change(tensors);
        return why_refused(record, tensors);
    };
    EXPECT_EQ(refusal([](auto& t) { t.pop_back(); }),
              "3 tensors were given, but the kernel takes 4");
    EXPECT_EQ(refusal([](auto& t) { t[0] = tensor(DType::bf16, {2, 512, 256}); }),
              "x has 3 dimensions, but the kernel takes 2");
    EXPECT_EQ(refusal([](auto& t) { t[1].dtype = DType::f16; }),
              "w is f16, but the kernel takes bf16");
    EXPECT_EQ(refusal([](auto& t) { t[1] = tensor(DType::bf16, {768, 264}); }),
              "w has 264 elements along dimension 1, but x has 256 along dimension 1");
    EXPECT_EQ(refusal([](auto& t) { t[0].sizes[0] = 0; }), "x is empty");
    EXPECT_EQ(refusal([](auto& t) { t[0].strides = {1, 512}; }),
              "x is not contiguous in its last dimension (stride 512)");
    EXPECT_EQ(refusal([](auto& t) { t[0].data = reinterpret_cast<void*>(0x1008); }),
              "x does not start at a multiple of 16 bytes");
    EXPECT_EQ(refusal([](auto& t) { t[0].strides[0] = 257; }),
              "x has a stride of 514 bytes in dimension 0; TMA takes positive multiples of 16 "
              "below 2^40");
    EXPECT_NE(refusal([](auto& t) { t[0].strides[0] = 0; }), "");
    EXPECT_NE(refusal([](auto& t) { t[0].strides[0] = std::int64_t{1} << 39; }), "");
}

TEST(LaunchPlan, NamesTheLineOfTheKernelText) {
    auto record = product_record();
    record.params[0].origin = record.params[1].origin = "mlp.fact:2";
    auto tensors = product_tensors(512, 768, 256);
    tensors[0].strides[0] = 257;
    EXPECT_EQ(why_refused(record, tensors),
              "x (mlp.fact:2) has a stride of 514 bytes in dimension 0; TMA takes positive "
              "multiples of 16 below 2^40");
    tensors[1] = tensor(DType::bf16, {768, 264});
    EXPECT_EQ(why_refused(record, tensors),
              "w (mlp.fact:2) has 264 elements along dimension 1, but x (mlp.fact:2) has 256 along "
              "dimension 1");
}

TEST(LaunchPlan, RefusesExtentsTheTextRulesOut) {
    auto record = product_record();
    record.extent_rules = {{{{{0, 1}}}, {{}, 64}, true}};
    EXPECT_EQ(inconsistency(record), "");
    EXPECT_EQ(why_refused(record, product_tensors(512, 768, 256)), "");
    EXPECT_EQ(why_refused(record, product_tensors(512, 768, 264)),
              "x has 264 elements along dimension 1, but the kernel takes multiples of 64");
    record.extent_rules = {{{{{0, 1}}, 1, 1, {{1, 0}}}, {{}, 5}, true}};
    EXPECT_EQ(why_refused(record, product_tensors(512, 16, 128)),
              "x gives 8 along dimension 1, but the kernel takes multiples of 5");
    record.extent_rules[0].of.dims.clear();
    EXPECT_NE(inconsistency(record), "");
}

TEST(LaunchPlan, RefusesExtentsThatOverflow) {
    auto record = product_record();
    record.launches[0].grid = LinearGrid{{{{0, 0}}}, 256};
    auto& fields = std::get<StructParam>(record.launches[0].params[3]);
    fields.members[1].field = ExtentField{{{0, 0}, {0, 1}}};
    EXPECT_EQ(why_refused(record, product_tensors(1 << 20, 768, 1 << 12)),
              "dimension 0 of x times dimension 1 of x is 4294967296, more than kernels count to "
              "(2147418112)");
}

TEST(LaunchPlan, BlocksInWaves) {
    auto record = product_record();
    const auto blocks = [&](int waves, std::int64_t capacity) {
        record.launches[0].grid = LinearGrid{{{{0, 0}}}, 10, waves};
        return grid_size(record.launches[0], product_tensors(100'000, 8, 8), capacity).x;
    };
    EXPECT_EQ(blocks(1, 131), 132);  // whole clusters, of two blocks each
    EXPECT_EQ(blocks(64, 132), 64 * 132);
    EXPECT_EQ(blocks(64, 1000), 10'000);
    EXPECT_EQ(blocks(0, 132), 10'000);
}

// The last tile goes over the edge: an extent of 2^31 - 1 would do so in 32 bits, too.
TEST(LaunchPlan, RefusesDimensionsNearTheEndOf32Bits) {
    auto record = product_record();
    EXPECT_EQ(why_refused(record, product_tensors(kMaxCount, 8, 8)), "");
    EXPECT_EQ(
        why_refused(record, product_tensors(kMaxCount + 1, 8, 8)),
        "x has 2147418113 elements along dimension 0, more than kernels count to (2147418112)");
    // Whatever it is bound to: a row kernel may take it apart and have no field for the whole.
    record.launches[0].params.clear();
    record.launches[0].grid = LinearGrid{{{{0, 1}}}, 256};
    EXPECT_NE(why_refused(record, product_tensors(std::int64_t{1} << 32, 8, 8)), "");
}

TEST(LaunchPlan, RefusesMoreTilesThanCanBeNumbered) {
    LaunchRecord record;
    record.kernel = "scores";
    record.arch = "sm90a";
    record.params = {{"x", DType::bf16, 3}};
    Launch launch;
    launch.entry = "scores_kernel";
    launch.grid = PersistentGrid{{{0, 1}}, {{0, 2}}, {{0, 0}}, 128, 128};
    launch.block = 384;
    record.launches = {launch};
    ASSERT_EQ(inconsistency(record), "");
    const auto refusal = [&](std::vector<std::int64_t> sizes) {
        return why_refused(record, std::vector{tensor(DType::bf16, std::move(sizes))});
    };
    EXPECT_EQ(refusal({1 << 20, 1 << 10, 1 << 14}), "");  // 2^30 tiles
    EXPECT_EQ(refusal({1 << 21, 1 << 10, 1 << 14}),
              "scores_kernel would walk 2147483648 tiles, more than kernels count to (2147418112)");
    // Nor does the product of extents overflow on the way.
    EXPECT_NE(refusal({kMaxCount, kMaxCount, kMaxCount}), "");
    // Two by one of them are one cluster's.
    record.launches[0].cluster = {2, 1};
    EXPECT_EQ(refusal({1 << 21, 1 << 10, 1 << 14}), "");
}

TEST(LaunchPlan, RefusesKTilesThatCannotBeNumbered) {
    auto record = product_record();
    auto& grid = std::get<PersistentGrid>(record.launches[0].grid);
    grid.k = {{0, 1}}, grid.tile_k = 64, grid.max_blocks = 144;
    const std::int64_t most = kMaxCount / 288 * 64;
    EXPECT_EQ(why_refused(record, product_tensors(8, 8, most)), "");
    EXPECT_EQ(
        why_refused(record, product_tensors(8, 8, most + 64)),
        "linear would cut tiles of 7456313 k-tiles along K, more than it can number (7456312)");
}

TEST(LaunchPlan, RefusesWhatTheRecordCountsTo) {
    auto record = product_record();
    record.counts = {{{{0, 0}, {1, 0}}, 16}};
    EXPECT_EQ(inconsistency(record), "");
    EXPECT_EQ(why_refused(record, product_tensors(8192, 8192, 64)), "");
    EXPECT_EQ(why_refused(record, product_tensors(16384, 8192, 64)),
              "dimension 0 of x times dimension 0 of w times 16 is 2147483648, more than kernels "
              "count to (2147418112)");
    record.counts = {{{{4, 0}}}};
    EXPECT_NE(inconsistency(record), "");
}

TEST(LaunchPlan, AlignmentIsOfEveryStep) {
    auto record = product_record();
    record.launches[0].params.resize(0);
    record.alignments = {{0, 16}};
    EXPECT_EQ(inconsistency(record), "");
    auto tensors = product_tensors(512, 768, 256);
    EXPECT_EQ(why_refused(record, tensors), "");
    const std::string why =
        "x has an address, row length or stride that is not a multiple of 16 bytes";
    tensors[0].strides[0] = 260;
    EXPECT_EQ(why_refused(record, tensors), why);
    tensors[0].strides[0] = 1;  // rows that overlap: a step of one element is one all the same
    EXPECT_EQ(why_refused(record, tensors), why);
    tensors[0].strides[0] = 0;
    EXPECT_EQ(why_refused(record, tensors), "");
}

TEST(LaunchPlan, ARowMayBeSeveralDimensions) {
    LaunchRecord record = product_record();
    record.params = {{"x", DType::bf16, 3}};
    record.outputs = {};
    record.equal_extents = {};
    record.launches[0].params = {};
    record.launches[0].grid = LinearGrid{{{{0, 0}}}, 1};
    record.alignments = {{0, 16, 2}};
    EXPECT_EQ(inconsistency(record), "");
    std::vector<TensorArg> tensors = {tensor(DType::bf16, {5, 24, 2})};
    EXPECT_EQ(why_refused(record, tensors), "");
    tensors[0].strides = {96, 4, 1};
    EXPECT_EQ(why_refused(record, tensors), "x is not contiguous in its last 2 dimensions");
    tensors[0].strides = {52, 2, 1};
    EXPECT_EQ(why_refused(record, tensors),
              "x has an address, row length or stride that is not a multiple of 16 bytes");
    tensors[0] = tensor(DType::bf16, {5, 3, 2});
    EXPECT_EQ(why_refused(record, tensors),
              "x has an address, row length or stride that is not a multiple of 16 bytes");
    record.alignments[0].row_dims = 0;
    EXPECT_NE(inconsistency(record), "");
}

TEST(LaunchPlan, WorkspaceRowsMustBeAddressableToo) {
    LaunchRecord record = product_record();
    record.workspaces = {{DType::f32, {{{{0, 0}}}, {{{0, 1}}}}, 2}};
    record.launches[0].params = {TensorMapParam{4, {2, 1, 0, kNoDim}, {32, 64, 1, 1}}};
    EXPECT_EQ(inconsistency(record), "");
    EXPECT_EQ(why_refused(record, product_tensors(64, 64, 100)), "");
    EXPECT_EQ(why_refused(record, product_tensors(64, 64, 102)),
              "workspace 0 has a stride of 408 bytes in dimension 1; TMA takes positive multiples "
              "of 16 below 2^40");
}

TEST(LaunchPlan, Workspaces) {
    LaunchRecord record = product_record();
    record.workspaces = {{DType::f32, {{{{0, 0}}}, {{{0, 1}}}}, 2},
                         {DType::i32, {{{{0, 0}, {1, 0}}}}, 1},
                         {DType::f16, {{{{0, 1}}, 1, 32}, {{}, 64}}}};
    const auto all = workspaces(record, product_tensors(64, 8, 100));
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].sizes, (std::vector<std::int64_t>{2, 64, 100}));
    EXPECT_EQ(all[0].strides, (std::vector<std::int64_t>{6400, 100, 1}));
    EXPECT_EQ(all[1].sizes, (std::vector<std::int64_t>{512}));
    EXPECT_EQ(all[1].dtype, DType::i32);
    EXPECT_EQ(all[2].sizes, (std::vector<std::int64_t>{4, 64})) << "a last block is begun, not cut";
}

TEST(LaunchPlan, PersistentGridIsWholeClustersThatFit) {
    auto record = product_record();
    Launch& launch = record.launches[0];
    // 8 row tiles in clusters of 2, 5 column tiles: 20 clusters.
    const auto tensors = product_tensors(1000, 1032, 776);
    EXPECT_EQ(grid_size(launch, tensors, 66), (GridSize{40, 1, 1}));
    EXPECT_EQ(grid_size(launch, tensors, 6), (GridSize{12, 1, 1}));
    // An odd number of tiles still takes a whole cluster.
    EXPECT_EQ(grid_size(launch, product_tensors(129, 8, 8), 66), (GridSize{2, 1, 1}));
    std::get<PersistentGrid>(launch.grid).batch = {{2, 0}};
    EXPECT_EQ(grid_size(launch, product_tensors(129, 8, 8), 66), (GridSize{16, 1, 1}));
}

TEST(LaunchPlan, DividedTilesFillTheGpuButNeverHaveLessThanAKTile) {
    auto record = product_record();
    Launch& launch = record.launches[0];
    auto& grid = std::get<PersistentGrid>(launch.grid);
    grid.k = {{0, 1}}, grid.tile_k = 64;
    EXPECT_EQ(grid_size(launch, product_tensors(256, 256, 524288), 66), (GridSize{132, 1, 1}));
    EXPECT_EQ(grid_size(launch, product_tensors(256, 256, 640), 66), (GridSize{20, 1, 1}));
}

// A GPU may hold more blocks than a kernel's workspaces have room for.
TEST(LaunchPlan, NeverMoreBlocksThanTheRecordSays) {
    auto record = product_record();
    Launch& launch = record.launches[0];
    auto& grid = std::get<PersistentGrid>(launch.grid);
    grid.k = {{0, 1}}, grid.tile_k = 64, grid.max_blocks = 144;
    EXPECT_EQ(grid_size(launch, product_tensors(256, 256, 524288), 66), (GridSize{132, 1, 1}));
    EXPECT_EQ(grid_size(launch, product_tensors(256, 256, 524288), 148), (GridSize{144, 1, 1}));
    grid.max_blocks = 7;
    EXPECT_EQ(grid_size(launch, product_tensors(256, 256, 524288), 148), (GridSize{6, 1, 1}));
    grid.max_blocks = 1;
    EXPECT_NE(inconsistency(record), "") << "less than a cluster";
}

TEST(LaunchPlan, OtherGrids) {
    Launch launch;
    const auto tensors = product_tensors(1000, 1032, 776);
    launch.grid = LinearGrid{{{{0, 0}, {0, 1}}}, 1024};
    EXPECT_EQ(grid_size(launch, tensors, 132), (GridSize{132, 1, 1}));
    EXPECT_EQ(grid_size(launch, tensors, 10000), (GridSize{758, 1, 1}));
    launch.grid = TileGrid{{{0, 0}}, {{0, 1}}, {{1, 0}}, 64, 32};
    EXPECT_EQ(grid_size(launch, tensors, 1), (GridSize{25, 16, 1032}));
    std::get<TileGrid>(launch.grid).max_z = 1000;
    EXPECT_EQ(grid_size(launch, tensors, 1), (GridSize{25, 16, 1000}));
}

TEST(LaunchPlan, PacksStructs) {
    const auto record = product_record();
    const auto bytes =
        pack(std::get<StructParam>(record.launches[0].params[3]), product_tensors(64, 128, 256));
    struct {
        void* bias;
        std::int32_t m, one;
        std::int64_t pitch;
        std::uint64_t token;
    } got, next;
    ASSERT_EQ(bytes.size(), sizeof(got));
    std::memcpy(&got, bytes.data(), sizeof(got));
    EXPECT_EQ(got.bias, reinterpret_cast<void*>(0x1004));
    EXPECT_EQ(got.m, 64);
    EXPECT_EQ(got.one, 1);
    EXPECT_EQ(got.pitch, 256);
    // Every launch is told from every other, and from memory never written.
    const auto later =
        pack(std::get<StructParam>(record.launches[0].params[3]), product_tensors(64, 128, 256));
    std::memcpy(&next, later.data(), sizeof(next));
    EXPECT_EQ(next.token, got.token + 1);
    EXPECT_GT(got.token, std::uint64_t{1} << 16);
}

TEST(LaunchPlan, MapGeometryOfAStridedView) {
    // q of a packed projection: [B, T, H, D] inside rows of 3*H*D.
    TensorArg q = tensor(DType::f16, {4, 512, 8, 96});
    q.strides = {512 * 2304, 2304, 96, 1};
    const std::vector<TensorArg> tensors{q};
    const auto map = map_geometry({0, {3, 1, 2, 0}, {64, 128, 1, 1}, 128}, tensors);
    EXPECT_EQ(map.data_type, 6);
    EXPECT_EQ(map.swizzle, 3);
    EXPECT_EQ(map.address, q.data);
    EXPECT_EQ(map.extents, (std::array<std::uint64_t, 5>{96, 512, 8, 4}));
    EXPECT_EQ(map.rank, 4u);
    EXPECT_EQ(map.stride_bytes, (std::array<std::uint64_t, 4>{4608, 192, 512 * 4608}));
    EXPECT_EQ(map.box, (std::array<std::uint32_t, 5>{64, 128, 1, 1}));
    EXPECT_EQ(map.element_strides, (std::array<std::uint32_t, 5>{1, 1, 1, 1, 1}));
}

TEST(LaunchPlan, MapGeometryFillsMissingDimensions) {
    const std::vector<TensorArg> tensors{tensor(DType::bf16, {3, 20})};
    const auto map = map_geometry({0, {1, kNoDim, 0, kNoDim}, {32, 1, 1, 1}, 64}, tensors);
    EXPECT_EQ(map.data_type, 9);
    EXPECT_EQ(map.swizzle, 2);
    EXPECT_EQ(map.extents, (std::array<std::uint64_t, 5>{20, 1, 3, 1}));
    EXPECT_EQ(map.stride_bytes[0] % 16, 0u);
    EXPECT_EQ(map.stride_bytes[1], 40u);
    EXPECT_EQ(map.stride_bytes[2] % 16, 0u);
    EXPECT_GE(map.stride_bytes[2], 120u);
}

TEST(LaunchPlan, DamagedRecordsAreNamed) {
    const auto damage = [](auto change) {
        auto record = product_record();
        change(record);
        return inconsistency(record);
    };
    const auto map = [](LaunchRecord& r) -> auto& {
        return std::get<TensorMapParam>(r.launches[0].params[0]);
    };
    EXPECT_NE(damage([](auto& r) { r.launches.clear(); }), "");
    EXPECT_NE(damage([](auto& r) { r.equal_extents[0][0].dim = 2; }), "");
    EXPECT_NE(damage([](auto& r) { r.workspaces = {{DType::f32, {{{{4, 0}}}}, 1}}; }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).tensor = 4; }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).dims[1] = 2; }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).dims[0] = 0; }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).box[1] = 257; }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).box[0] = 128; }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).swizzle_bytes = 48; }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).box.push_back(1); }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).dims.clear(), map(r).box.clear(); }), "");
    EXPECT_NE(damage([&](auto& r) { map(r).dims.resize(6, kNoDim), map(r).box.resize(6, 1); }), "");
    EXPECT_NE(damage([](auto& r) {
                  std::get<StructParam>(r.launches[0].params[3]).members[4].offset = 30;
              }),
              "");
    EXPECT_NE(damage([](auto& r) { std::get<StructParam>(r.launches[0].params[3]).bytes = 24; }),
              "");
    EXPECT_NE(damage([](auto& r) { r.launches[0].block = 0; }), "");
    EXPECT_NE(damage([](auto& r) { r.launches[0].prepares_from = {3}; }), "");
    EXPECT_NE(
        damage([](auto& r) { std::get<PersistentGrid>(r.launches[0].grid).batch = {{0, 5}}; }), "");
}

}  // namespace
}  // namespace fact::gpu

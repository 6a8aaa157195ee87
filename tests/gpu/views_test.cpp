// Tensors whose dimensions are merged, and tensor maps over windows.
#include <gtest/gtest.h>

#include "gpu/launch_plan.h"

namespace fact::gpu {
namespace {

TensorArg contiguous(std::vector<std::int64_t> sizes, DType dtype = DType::bf16) {
    TensorArg arg;
    arg.data = reinterpret_cast<void*>(std::uintptr_t{0x1000});
    arg.dtype = dtype;
    arg.sizes = std::move(sizes);
    arg.strides.assign(arg.sizes.size(), 1);
    for (std::size_t i = arg.sizes.size(); i-- > 1;)
        arg.strides[i - 1] = arg.strides[i] * arg.sizes[i];
    return arg;
}

// y[B, P, Q, F], which the launch takes as a matrix [B*P*Q, F].
LaunchRecord record_with_view() {
    LaunchRecord record;
    record.kernel = "copy";
    record.arch = "sm90a";
    record.params = {{"x", DType::bf16, 4}};
    record.outputs = {{"y", DType::bf16, 4}};
    record.views = {{1, {3, 1}}};
    Launch launch;
    launch.entry = "copy";
    launch.grid = LinearGrid{{{{2, 0}}}, 1};
    launch.block = 32;
    launch.params = {TensorMapParam{2, {1, 0, kNoDim, kNoDim}, {64, 16, 1, 1}}};
    record.launches = {launch};
    return record;
}

TEST(Views, MergeRunsOfDimensions) {
    const LaunchRecord record = record_with_view();
    ASSERT_EQ(inconsistency(record), "");
    const std::vector<TensorArg> tensors{contiguous({4, 3, 5, 64}), contiguous({4, 3, 5, 64})};
    EXPECT_EQ(why_refused(record, tensors), "");
    const auto all = with_views(record, tensors);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[2].sizes, (std::vector<std::int64_t>{60, 64}));
    EXPECT_EQ(all[2].strides, (std::vector<std::int64_t>{64, 1}));
    EXPECT_EQ(all[2].data, tensors[1].data);
    int visited = -1;
    for_each_tensor(record, record.launches[0], [&](int tensor) { visited = tensor; });
    EXPECT_EQ(visited, 1);  // the tensor, not its view
}

TEST(Views, NeedContiguousRuns) {
    const LaunchRecord record = record_with_view();
    std::vector<TensorArg> tensors{contiguous({4, 3, 5, 64}), contiguous({4, 3, 5, 64})};
    tensors[1].strides = {15 * 128, 5 * 128, 128, 1};  // every other row: still one step
    EXPECT_EQ(why_refused(record, tensors), "");
    EXPECT_EQ(with_views(record, tensors)[2].strides[0], 128);
    tensors[1].strides = {16 * 64, 5 * 64, 64, 1};
    EXPECT_EQ(why_refused(record, tensors), "y is not contiguous across its dimensions 0 to 2");
    tensors[0].sizes[0] = tensors[1].sizes[0] = 1;  // there is no step along it
    EXPECT_EQ(why_refused(record, tensors), "");
}

TEST(Views, RepeatedDimensionsAreNotMerged) {
    const LaunchRecord record = record_with_view();
    std::vector<TensorArg> tensors{contiguous({4, 3, 5, 64}), contiguous({4, 3, 5, 64})};
    tensors[1].strides[0] = 0;
    EXPECT_EQ(why_refused(record, tensors), "y is not contiguous across its dimensions 0 to 2");
}

TEST(Views, RowsOfAMapAreContiguous) {
    LaunchRecord record = record_with_view();
    record.views = {{1, {1, 1, 2}}};
    std::get<TensorMapParam>(record.launches[0].params[0]).dims = {2, 1, 0, kNoDim};
    std::vector<TensorArg> tensors{contiguous({4, 8, 64, 1}), contiguous({4, 8, 64, 1})};
    EXPECT_EQ(why_refused(record, tensors), "");
    tensors[1].strides = {8 * 128, 128, 2, 1};
    EXPECT_EQ(why_refused(record, tensors), "y is not contiguous in its last dimension (stride 2)");
}

TEST(Views, StrideIsThatOfTheInnermostDimensionThatSteps) {
    const LaunchRecord record = record_with_view();
    std::vector<TensorArg> tensors{contiguous({4, 1, 1, 64}), contiguous({4, 1, 1, 64})};
    tensors[1].strides = {64, 7, 9, 1};
    EXPECT_EQ(why_refused(record, tensors), "");
    EXPECT_EQ(with_views(record, tensors)[2].strides[0], 64);
}

TEST(Views, DamagedOnesAreNamed) {
    const auto damaged = [](auto change) {
        LaunchRecord record = record_with_view();
        change(record);
        return inconsistency(record);
    };
    EXPECT_EQ(damaged([](auto& r) { r.views[0].tensor = 2; }), "tensor 2 is out of range");
    EXPECT_EQ(damaged([](auto& r) { r.views[0].runs = {2, 1}; }),
              "view of 3 dimensions is out of range");
    EXPECT_EQ(damaged([](auto& r) { r.views[0].runs = {4, 0}; }),
              "run of 0 dimensions is out of range");
    EXPECT_EQ(damaged([](auto& r) { r.views.clear(); }), "tensor 2 is out of range");
}

// Images [N, H, W, C] under windows of 3 x 5 taps, two elements apart along W.
TensorMapParam windows_map() {
    TensorMapParam map{0, {3, 2, 1, 0}, {64, 128}};
    map.windows = {{2, -2, -2}, {1, -1, -1}};
    return map;
}

TEST(Windows, MapGeometry) {
    const std::vector<TensorArg> tensors{contiguous({8, 30, 28, 64})};
    const auto map = map_geometry(windows_map(), tensors);
    EXPECT_TRUE(map.has_windows);
    EXPECT_EQ(map.rank, 4u);
    EXPECT_EQ(map.extents, (std::array<std::uint64_t, 5>{64, 28, 30, 8}));
    EXPECT_EQ(map.stride_bytes, (std::array<std::uint64_t, 4>{128, 28 * 128, 30 * 28 * 128}));
    EXPECT_EQ(map.box, (std::array<std::uint32_t, 5>{64, 128}));
    EXPECT_EQ(map.element_strides, (std::array<std::uint32_t, 5>{1, 2, 1, 1, 1}));
    EXPECT_EQ(map.lower_corner, (std::array<int, 3>{-2, -1}));
    EXPECT_EQ(map.upper_corner, (std::array<int, 3>{-2, -1}));
}

TEST(Windows, MapsAreChecked) {
    const auto damaged = [](auto change) {
        LaunchRecord record = record_with_view();
        TensorMapParam map = windows_map();
        change(map);
        record.launches[0].params = {map};
        return inconsistency(record);
    };
    EXPECT_EQ(damaged([](auto&) {}), "");
    EXPECT_EQ(damaged([](auto& map) { map.windows[0].step = 9; }), "step of 9 is out of range");
    EXPECT_EQ(damaged([](auto& map) { map.windows[1].first = -129; }),
              "window at -129 is out of range");
    EXPECT_EQ(damaged([](auto& map) { map.windows.pop_back(); }),
              "tensor map of 4 dimensions is out of range");
    EXPECT_EQ(damaged([](auto& map) { map.box.push_back(1); }),
              "tensor map of 4 dimensions is out of range");
}

// Images [N, H, W, C] of 8 channels under windows of 3 x 4 taps.
TensorMapParam rows_map() {
    TensorMapParam map{0, {3, 2, 1, 0}, {32, 128, 1, 1}};
    map.taps = {4, 3};
    return map;
}

TEST(OverlappingRows, MapGeometry) {
    const auto images = contiguous({5, 30, 28, 8}, DType::f32);
    const auto map = map_geometry(rows_map(), std::vector<TensorArg>{images});
    EXPECT_FALSE(map.has_windows);
    EXPECT_EQ(map.rank, 4u);
    // The last row ends where the image does.
    EXPECT_EQ(map.extents, (std::array<std::uint64_t, 5>{32, 28 * 28 - 3, 3, 5}));
    EXPECT_EQ(map.stride_bytes, (std::array<std::uint64_t, 4>{32, 28 * 32, 30 * 28 * 32}));
    EXPECT_EQ(((map.extents[1] - 1) + 2 * 28 + 4), 30u * 28);
    EXPECT_EQ(map.box, (std::array<std::uint32_t, 5>{32, 128, 1, 1}));
    EXPECT_EQ(map.element_strides, (std::array<std::uint32_t, 5>{1, 1, 1, 1, 1}));

    TensorMapParam line{0, {2, 1, 0, kNoDim}, {32, 128, 1, 1}};
    line.taps = {4};
    const auto of_line = map_geometry(line, std::vector{contiguous({5, 30, 8}, DType::f32)});
    EXPECT_EQ(of_line.extents, (std::array<std::uint64_t, 5>{32, 27, 5, 1}));
}

TEST(OverlappingRows, MapsAndTensorsAreChecked) {
    const auto damaged = [](auto change) {
        LaunchRecord record = record_with_view();
        TensorMapParam map = rows_map();
        change(map);
        record.launches[0].params = {map};
        return inconsistency(record);
    };
    EXPECT_EQ(damaged([](auto&) {}), "");
    EXPECT_EQ(damaged([](auto& map) { map.taps[0] = 1; }), "row of 1 taps is out of range");
    EXPECT_EQ(damaged([](auto& map) { map.taps[1] = 0; }), "row of 0 taps is out of range");
    EXPECT_EQ(damaged([](auto& map) { map.dims[2] = kNoDim; }), "row of 3 taps is out of range");
    EXPECT_EQ(damaged([](auto& map) { map.taps = {1, 1, 1, 1}; }),
              "tensor map with taps along 4 dimensions is out of range");
    EXPECT_EQ(damaged([](auto& map) {
                  map.windows = {{1, 0, 0}, {1, 0, 0}};
                  map.box.resize(2);
              }),
              "tensor map with taps along 2 dimensions is out of range");

    LaunchRecord record;
    record.params = {{"x", DType::f32, 4}};
    record.launches.push_back({"rows", LinearGrid{{{{0, 0}}}}, 128, {1, 1}, 0, {rows_map()}});
    EXPECT_EQ(inconsistency(record), "");
    const auto refused = [&](TensorArg images) {
        return why_refused(record, std::vector{std::move(images)});
    };
    EXPECT_EQ(refused(contiguous({5, 30, 28, 8}, DType::f32)), "");
    EXPECT_EQ(refused(contiguous({5, 2, 28, 8}, DType::f32)),
              "x has 2 elements along dimension 1, fewer than a window (3)");
    TensorArg gaps = contiguous({5, 30, 28, 8}, DType::f32);
    gaps.strides = {30 * 28 * 16, 28 * 16, 16, 1};
    EXPECT_EQ(refused(gaps), "x is not contiguous from its dimension 2 on");
}

}  // namespace
}  // namespace fact::gpu

// The arithmetic of a launch: which tensors are accepted, the grid, the bytes of parameters, the
// geometry of tensor maps. It needs no GPU, and is tested without one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/kernel.h"
#include "target/launch_record.h"

namespace fact::gpu {

// A tensor in messages: its name in the kernel text, and its line there if known.
std::string title(const LaunchRecord& record, int tensor);

// See Kernel::why_refused and Kernel::workspaces. The record must be valid.
std::string why_refused(const LaunchRecord& record, std::span<const TensorArg> tensors);
std::vector<TensorArg> workspaces(const LaunchRecord& record, std::span<const TensorArg> tensors);

// Parameters, outputs and workspaces, followed by the record's views of them.
std::vector<TensorArg> with_views(const LaunchRecord& record, std::span<const TensorArg> tensors);
// Why a tensor cannot be seen as the view says; "" if it can.
std::string view_refusal(const LaunchRecord& record, const MergedView& view,
                         const TensorArg& tensor);

// The product of the dimensions' extents; 1 if there are none. Limited to 2^60, far above
// kMaxCount, so that it cannot overflow.
std::int64_t extent_product(std::span<const DimOf> dims, std::span<const TensorArg> tensors);
std::int64_t extent_of(const ExtentField& extent, std::span<const TensorArg> tensors);

struct GridSize {
    std::int64_t x = 1, y = 1, z = 1;
    bool operator==(const GridSize&) const = default;
};
// `capacity`: how many clusters (PersistentGrid) or thread blocks (LinearGrid) the GPU holds at a
// time; a TileGrid ignores it.
GridSize grid_size(const Launch& launch, std::span<const TensorArg> tensors, std::int64_t capacity);
// The clusters that a persistent grid would have with one thread block per tile.
std::int64_t cluster_count(const PersistentGrid& grid, const std::array<int, 2>& cluster,
                           std::span<const TensorArg> tensors);

// The bytes of a struct parameter; those that belong to no member are zero.
std::vector<std::byte> pack(const StructParam& param, std::span<const TensorArg> tensors);

// The arguments of cuTensorMapEncodeTiled or, for a map with windows, of cuTensorMapEncodeIm2col,
// innermost dimension first.
struct MapGeometry {
    static constexpr std::size_t kMaxRank = TensorMapParam::kMaxDims;
    std::size_t rank = 0;
    bool has_windows = false;        // `box` is then channels and pixels
    int data_type = 0, swizzle = 0;  // numbers of the driver's enumerations
    void* address = nullptr;
    std::array<std::uint64_t, kMaxRank> extents{};
    std::array<std::uint64_t, kMaxRank - 1> stride_bytes{};
    std::array<std::uint32_t, kMaxRank> box{}, element_strides{};
    std::array<int, kMaxRank - 2> lower_corner{}, upper_corner{};
    bool operator==(const MapGeometry&) const = default;
};
MapGeometry map_geometry(const TensorMapParam& param, std::span<const TensorArg> tensors);

}  // namespace fact::gpu

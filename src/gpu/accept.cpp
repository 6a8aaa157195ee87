// Which tensors the launcher accepts: why_refused() and title() of gpu/launch_plan.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "gpu/launch_plan.h"
#include "support/division.h"
#include "support/result.h"

namespace fact::gpu {

namespace {

// These functions say why tensors or a launch are refused; "" if they are accepted. `all` are the
// parameters, outputs and workspaces.

std::string shape_refusal(const LaunchRecord& record, int number, const TensorArg& tensor) {
    const TensorSpec& spec = record.spec(number);
    const std::string name = title(record, number);
    const auto rank = static_cast<int>(tensor.sizes.size());
    if (rank != spec.rank)
        return fmt::format("{} has {} dimensions, but the kernel takes {}", name, rank, spec.rank);
    if (tensor.strides.size() != tensor.sizes.size())
        throw InternalError("TensorArg: sizes and strides differ in length");
    if (tensor.dtype != spec.dtype)
        return fmt::format("{} is {}, but the kernel takes {}", name, info(tensor.dtype).name,
                           info(spec.dtype).name);
    for (int i = 0; i < rank; ++i) {
        if (tensor.sizes[i] < 1) return fmt::format("{} is empty", name);
        if (tensor.sizes[i] > kMaxCount)
            return fmt::format(
                "{} has {} elements along dimension {}, more than kernels count to ({})", name,
                tensor.sizes[i], i, kMaxCount);
    }
    if (rank > 0 && tensor.sizes.back() > 1 && tensor.strides.back() != 1)
        return fmt::format("{} is not contiguous in its last dimension (stride {})", name,
                           tensor.strides.back());
    return "";
}

// Rows that overlap run over dimensions that are contiguous, and as long as the taps along them.
std::string rows_refusal(std::string_view name, const TensorMapParam& param,
                         const TensorArg& tensor) {
    if (param.taps.empty()) return "";
    std::int64_t pixels = 1;
    for (std::size_t i = 0; i < param.taps.size(); ++i) {
        const int dim = param.dims[i + 1];
        if (tensor.sizes[dim] < param.taps[i])
            return fmt::format("{} has {} elements along dimension {}, fewer than a window ({})",
                               name, tensor.sizes[dim], dim, param.taps[i]);
        if (tensor.sizes[dim] > 1 && tensor.strides[dim] != pixels * tensor.sizes[param.dims[0]])
            return fmt::format("{} is not contiguous from its dimension {} on", name, dim);
        pixels *= tensor.sizes[dim];
        if (pixels > kMaxCount)
            return fmt::format("{} has {} pixels in an image, more than kernels count to ({})",
                               name, pixels, kMaxCount);
    }
    return "";
}

// What cuTensorMapEncodeTiled requires of a tensor's strides and address.
std::string map_refusal(std::string_view name, const TensorMapParam& param,
                        const TensorArg& tensor) {
    const std::int64_t bytes = info(tensor.dtype).bytes;
    if (reinterpret_cast<std::uintptr_t>(tensor.data) % 16 != 0)
        return fmt::format("{} does not start at a multiple of 16 bytes", name);
    for (std::size_t i = 0; i < param.dims.size(); ++i) {
        const int dim = param.dims[i];
        if (dim == kNoDim) continue;
        if (tensor.sizes[dim] > kMaxCount)  // of a workspace; TMA's coordinates have 32 bits
            return fmt::format(
                "{} has {} elements along dimension {}, more than kernels count to ({})", name,
                tensor.sizes[dim], dim, kMaxCount);
        if (tensor.sizes[dim] == 1) continue;
        if (i == 0 && tensor.strides[dim] != 1)
            return fmt::format("{} is not contiguous in its last dimension (stride {})", name,
                               tensor.strides[dim]);
        if (i == 0) continue;
        const std::int64_t stride = tensor.strides[dim] * bytes;
        if (stride <= 0 || stride % 16 != 0 || stride >= std::int64_t{1} << 40)
            return fmt::format(
                "{} has a stride of {} bytes in dimension {}; TMA takes positive multiples of 16 "
                "below 2^40",
                name, stride, dim);
    }
    return rows_refusal(name, param, tensor);
}

// The first dimension of a row.
std::size_t row_begin(const Alignment& alignment, const TensorArg& tensor) {
    return tensor.sizes.size() - std::min<std::size_t>(alignment.row_dims, tensor.sizes.size());
}

bool has_contiguous_rows(const Alignment& alignment, const TensorArg& tensor) {
    std::int64_t step = 1;
    for (std::size_t i = tensor.sizes.size(); i-- > row_begin(alignment, tensor);) {
        if (tensor.sizes[i] > 1 && tensor.strides[i] != step) return false;
        step *= tensor.sizes[i];
    }
    return true;
}

bool is_aligned(const Alignment& alignment, const TensorArg& tensor) {
    if (reinterpret_cast<std::uintptr_t>(tensor.data) % alignment.bytes != 0) return false;
    const std::int64_t element_bytes = info(tensor.dtype).bytes;
    const std::size_t row = row_begin(alignment, tensor);
    std::int64_t row_bytes = element_bytes;
    for (std::size_t i = row; i < tensor.sizes.size(); ++i) row_bytes *= tensor.sizes[i];
    if (!tensor.sizes.empty() && row_bytes % alignment.bytes != 0) return false;
    for (std::size_t i = 0; i < row; ++i)
        if (tensor.sizes[i] > 1 && tensor.strides[i] * element_bytes % alignment.bytes != 0)
            return false;
    return true;
}

// Why the kernel cannot count to an extent in 32 bits; "" if it can.
std::string extent_refusal(const LaunchRecord& record, const ExtentField& extent,
                           std::span<const TensorArg> all) {
    const std::int64_t count = extent_of(extent, all);
    if (count <= kMaxCount) return "";
    std::vector<std::string> names;
    for (const DimOf& dim : extent.dims)
        names.push_back(fmt::format("dimension {} of {}", dim.dim, title(record, dim.tensor)));
    return fmt::format("{}{} is {}, more than kernels count to ({})", fmt::join(names, " times "),
                       extent.factor > 1 ? fmt::format(" times {}", extent.factor) : "", count,
                       kMaxCount);
}

// The kernel numbers tiles in 32 bits. It also numbers the k-tiles of the tiles that are cut along
// K: fewer than two tiles per cluster.
std::string tiles_refusal(const Launch& launch, const PersistentGrid& grid,
                          std::span<const TensorArg> all) {
    const std::int64_t tiles = cluster_count(grid, launch.cluster, all);
    if (tiles > kMaxCount)
        return fmt::format("{} would walk {} tiles, more than kernels count to ({})", launch.entry,
                           tiles, kMaxCount);
    if (grid.tile_k == 0 || grid.max_blocks == 0) return "";
    const std::int64_t k_tiles = ceil_div(extent_product(grid.k, all), grid.tile_k);
    const std::int64_t max_k_tiles = kMaxCount / (2 * std::int64_t{grid.max_blocks});
    if (k_tiles <= max_k_tiles) return "";
    return fmt::format("{} would cut tiles of {} k-tiles along K, more than it can number ({})",
                       launch.entry, k_tiles, max_k_tiles);
}

std::string struct_refusal(const LaunchRecord& record, const StructParam& param,
                           std::span<const TensorArg> all) {
    for (const auto& member : param.members) {
        const std::string why = std::visit(
            overloaded{
                [&](const ExtentField& extent) { return extent_refusal(record, extent, all); },
                [](const one_of<PointerField, StrideField, TokenField> auto&) {
                    return std::string();
                },
            },
            member.field);
        if (!why.empty()) return why;
    }
    return "";
}

std::string launch_refusal(const LaunchRecord& record, const Launch& launch,
                           std::span<const TensorArg> all) {
    for (const auto& param : launch.params) {
        const std::string why = std::visit(
            overloaded{
                [&](const TensorMapParam& map) {
                    return map_refusal(title(record, map.tensor), map, all[map.tensor]);
                },
                [&](const StructParam& plain) { return struct_refusal(record, plain, all); },
            },
            param);
        if (!why.empty()) return why;
    }
    const std::string too_many = std::visit(
        overloaded{
            [&](const PersistentGrid& tiles) { return tiles_refusal(launch, tiles, all); },
            [](const one_of<LinearGrid, TileGrid> auto&) { return std::string(); },
        },
        launch.grid);
    if (!too_many.empty()) return too_many;
    constexpr std::int64_t kInt32 = std::numeric_limits<std::int32_t>::max();
    // More clusters than any GPU holds; a cluster has at most 16 blocks.
    const GridSize grid = grid_size(launch, all, kInt32 / 16);
    if (grid.x > kInt32 || grid.y > kMaxGridDepth || grid.z > kMaxGridDepth)
        return fmt::format("the grid {}x{}x{} of {} is larger than CUDA allows", grid.x, grid.y,
                           grid.z, launch.entry);
    return "";
}

}  // namespace

std::string view_refusal(const LaunchRecord& record, const MergedView& view,
                         const TensorArg& tensor) {
    std::size_t dim = 0;
    for (const int run : view.runs) {
        std::optional<std::int64_t> outer_stride;  // of the nearest one outside that steps
        const std::size_t end = dim + static_cast<std::size_t>(run);
        for (const std::size_t first = dim; dim < end; ++dim) {
            if (tensor.sizes[dim] == 1) continue;
            if (outer_stride && outer_stride != tensor.strides[dim] * tensor.sizes[dim])
                return fmt::format("{} is not contiguous across its dimensions {} to {}",
                                   title(record, view.tensor), first, end - 1);
            outer_stride = tensor.strides[dim];
        }
    }
    return "";
}

std::string title(const LaunchRecord& record, int number) {
    const int tensor = record.behind_view(number);
    if (tensor >= record.num_bound())
        return fmt::format("workspace {}", tensor - record.num_bound());
    const TensorSpec& spec = record.spec(tensor);
    return spec.origin.empty() ? spec.name : fmt::format("{} ({})", spec.name, spec.origin);
}

std::string why_refused(const LaunchRecord& record, std::span<const TensorArg> tensors) {
    if (static_cast<int>(tensors.size()) != record.num_bound())
        return fmt::format("{} tensors were given, but the kernel takes {}", tensors.size(),
                           record.num_bound());
    for (int i = 0; i < record.num_bound(); ++i)
        if (std::string why = shape_refusal(record, i, tensors[i]); !why.empty()) return why;

    for (const auto& group : record.equal_extents)
        for (const auto& dim : group) {
            const auto& first = group.front();
            const auto expected = tensors[first.tensor].sizes[first.dim];
            const auto extent = tensors[dim.tensor].sizes[dim.dim];
            if (extent != expected)
                return fmt::format(
                    "{} has {} elements along dimension {}, but {} has {} along dimension {}",
                    title(record, dim.tensor), extent, dim.dim, title(record, first.tensor),
                    expected, first.dim);
        }

    for (const auto& rule : record.extent_rules) {
        const auto extent = extent_of(rule.of, tensors);
        const auto expected = std::max<std::int64_t>(extent_of(rule.extent, tensors), 1);
        // A dimension "has" its plain extent, and "gives" one with a factor or a divisor.
        if (rule.multiple ? extent % expected != 0 : extent != expected)
            return fmt::format(
                "{} {} along dimension {}, but the kernel takes {}{}",
                title(record, rule.of.dims.front().tensor),
                rule.of == ExtentField{rule.of.dims} ? fmt::format("has {} elements", extent)
                                                     : fmt::format("gives {}", extent),
                rule.of.dims.front().dim, rule.multiple ? "multiples of " : "", expected);
    }

    std::vector<TensorArg> all(tensors.begin(), tensors.end());
    for (auto& workspace : workspaces(record, tensors)) all.push_back(std::move(workspace));
    for (const MergedView& view : record.views)
        if (std::string why = view_refusal(record, view, all[view.tensor]); !why.empty())
            return why;
    all = with_views(record, all);
    for (const auto& alignment : record.alignments) {
        if (!has_contiguous_rows(alignment, all[alignment.tensor]))
            return fmt::format("{} is not contiguous in its last {} dimensions",
                               title(record, alignment.tensor), alignment.row_dims);
        if (!is_aligned(alignment, all[alignment.tensor]))
            return fmt::format(
                "{} has an address, row length or stride that is not a multiple of {} bytes",
                title(record, alignment.tensor), alignment.bytes);
    }
    for (const ExtentField& count : record.counts)
        if (std::string why = extent_refusal(record, count, all); !why.empty()) return why;
    for (const auto& launch : record.launches)
        if (std::string why = launch_refusal(record, launch, all); !why.empty()) return why;
    return "";
}

}  // namespace fact::gpu

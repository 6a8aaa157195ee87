#include "gpu/launch_plan.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>

#include "support/division.h"

namespace fact::gpu {

namespace {

// The number in the driver's CUtensorMapDataType.
int map_data_type(DType dtype) {
    switch (dtype) {
        case DType::boolean:
        case DType::u8:
        case DType::i8:
            return 0;
        case DType::i16:
            return 1;
        case DType::i32:
            return 3;
        case DType::i64:
            return 5;
        case DType::f16:
            return 6;
        case DType::f32:
            return 7;
        case DType::f64:
            return 8;
        case DType::bf16:
            return 9;
    }
    throw InternalError("map_data_type: unknown dtype");
}

// The number in the driver's CUtensorMapSwizzle.
int map_swizzle(int bytes) {
    switch (bytes) {
        case 0:
            return 0;
        case 32:
            return 1;
        case 64:
            return 2;
        case 128:
            return 3;
    }
    throw InternalError("map_swizzle: not a swizzle");
}

// Tokens start at a random number: memory that was never written must not hold one by chance.
std::uint64_t next_token() {
    static std::atomic<std::uint64_t> last = [] {
        std::random_device random;
        return (std::uint64_t{random()} << 32) ^ random();
    }();
    return ++last;
}

// The product, limited so that it cannot overflow: anything that large is refused anyway.
std::int64_t multiplied(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? kMost : std::min(product, kMost);
}

// The extent of the map's dimension `i`.
std::uint64_t map_extent(const TensorMapParam& param, std::size_t i, const TensorArg& tensor) {
    const auto size = [&](std::size_t of) -> std::int64_t {
        return param.dims[of] == kNoDim ? 1 : tensor.sizes[param.dims[of]];
    };
    if (i > param.taps.size() || param.taps.empty()) return size(i);
    if (i == 0) return size(0) * param.taps[0];
    if (i > 1) return param.taps[i - 1];
    std::int64_t rows = 1, step = 1;  // up to the last row that is inside of the image
    for (std::size_t along = 0; along < param.taps.size(); ++along) {
        rows += std::max<std::int64_t>(0, size(along + 1) - param.taps[along]) * step;
        step *= size(along + 1);
    }
    return rows;
}

}  // namespace

std::vector<TensorArg> workspaces(const LaunchRecord& record, std::span<const TensorArg> tensors) {
    std::vector<TensorArg> all;
    all.reserve(record.workspaces.size());
    for (const auto& workspace : record.workspaces) {
        TensorArg arg;
        arg.dtype = workspace.dtype;
        if (workspace.copies > 1) arg.sizes.push_back(workspace.copies);
        for (const auto& extent : workspace.sizes) arg.sizes.push_back(extent_of(extent, tensors));
        arg.strides.resize(arg.sizes.size());
        std::int64_t stride = 1;
        for (std::size_t i = arg.sizes.size(); i-- > 0;) {
            arg.strides[i] = stride;
            stride = multiplied(stride, arg.sizes[i]);
        }
        all.push_back(std::move(arg));
    }
    return all;
}

std::vector<TensorArg> with_views(const LaunchRecord& record, std::span<const TensorArg> tensors) {
    std::vector<TensorArg> all(tensors.begin(), tensors.end());
    for (const MergedView& view : record.views) {
        const TensorArg& shown = tensors[static_cast<std::size_t>(view.tensor)];
        TensorArg arg;
        arg.data = shown.data;
        arg.dtype = shown.dtype;
        std::size_t dim = 0;
        for (const int run : view.runs) {
            std::int64_t size = 1, stride = 1;
            // The stride is that of the innermost dimension of the run; extents of one have none.
            for (int i = 0; i < run; ++i, ++dim) {
                if (i == 0 || shown.sizes[dim] > 1) stride = shown.strides[dim];
                size = multiplied(size, shown.sizes[dim]);
            }
            arg.sizes.push_back(size);
            arg.strides.push_back(stride);
        }
        all.push_back(std::move(arg));
    }
    return all;
}

std::int64_t extent_product(std::span<const DimOf> dims, std::span<const TensorArg> tensors) {
    std::int64_t product = 1;
    for (const auto& dim : dims)
        product = multiplied(product, dim.of(tensors[dim.tensor].sizes[dim.dim]));
    return product;
}

std::int64_t extent_of(const ExtentField& extent, std::span<const TensorArg> tensors) {
    // Where no window fits, a divisor may be 0: such a call has no elements.
    const auto divisor = multiplied(extent_product(extent.divisor_dims, tensors), extent.divisor);
    return ceil_div(multiplied(extent_product(extent.dims, tensors), extent.factor),
                    std::max<std::int64_t>(divisor, 1));
}

std::int64_t cluster_count(const PersistentGrid& grid, const std::array<int, 2>& cluster,
                           std::span<const TensorArg> tensors) {
    const auto rows = ceil_div(extent_product(grid.m, tensors), grid.tile_m);
    const auto columns = ceil_div(extent_product(grid.n, tensors), grid.tile_n);
    return multiplied(multiplied(ceil_div(rows, cluster[0]), ceil_div(columns, cluster[1])),
                      extent_product(grid.batch, tensors));
}

// CUDA's limit of a grid's x.
constexpr std::int64_t kMaxBlocks = (std::int64_t{1} << 31) - 1;

GridSize grid_size(const Launch& launch, std::span<const TensorArg> tensors,
                   std::int64_t capacity) {
    return std::visit(
        overloaded{
            [&](const PersistentGrid& grid) -> GridSize {
                const int blocks = launch.cluster[0] * launch.cluster[1];
                auto clusters = cluster_count(grid, launch.cluster, tensors);
                if (grid.tile_k > 0)
                    clusters = multiplied(clusters,
                                          ceil_div(extent_product(grid.k, tensors), grid.tile_k));
                clusters = std::min(clusters, capacity);
                if (grid.max_blocks > 0)
                    clusters = std::min<std::int64_t>(clusters, grid.max_blocks / blocks);
                return {clusters * blocks, 1, 1};
            },
            [&](const LinearGrid& grid) -> GridSize {
                const int cluster = launch.cluster[0] * launch.cluster[1];
                const auto blocks = ceil_div(extent_of(grid.count, tensors), grid.per_block);
                const auto most = grid.waves > 0 ? capacity * grid.waves : kMaxBlocks;
                return {ceil_div(std::min({blocks, most, kMaxBlocks}), cluster) * cluster, 1, 1};
            },
            [&](const TileGrid& grid) -> GridSize {
                const auto batch = extent_product(grid.batch, tensors);
                return {ceil_div(extent_product(grid.n, tensors), grid.tile_n),
                        ceil_div(extent_product(grid.m, tensors), grid.tile_m),
                        grid.max_z > 0 ? std::min<std::int64_t>(batch, grid.max_z) : batch};
            },
        },
        launch.grid);
}

std::vector<std::byte> pack(const StructParam& param, std::span<const TensorArg> tensors) {
    std::vector<std::byte> bytes(param.bytes);
    for (const auto& member : param.members) {
        const auto store = [&](auto value) {
            std::memcpy(bytes.data() + member.offset, &value, sizeof(value));
        };
        std::visit(overloaded{
                       [&](const PointerField& field) { store(tensors[field.tensor].data); },
                       [&](const ExtentField& field) {
                           store(static_cast<std::int32_t>(extent_of(field, tensors)));
                       },
                       [&](const StrideField& field) {
                           store(field.dim == kNoDim ? std::int64_t{0}
                                                     : tensors[field.tensor].strides[field.dim]);
                       },
                       [&](const TokenField&) { store(next_token()); },
                   },
                   member.field);
    }
    return bytes;
}

MapGeometry map_geometry(const TensorMapParam& param, std::span<const TensorArg> tensors) {
    const TensorArg& tensor = tensors[param.tensor];
    const std::uint64_t bytes = info(tensor.dtype).bytes;
    MapGeometry map;
    map.rank = param.dims.size();
    map.data_type = map_data_type(tensor.dtype);
    map.swizzle = map_swizzle(param.swizzle_bytes);
    map.address = tensor.data;
    map.element_strides.fill(1);
    std::uint64_t span = bytes;  // the bytes that the dimensions so far cover
    for (std::size_t i = 0; i < param.box.size(); ++i)
        map.box[i] = static_cast<std::uint32_t>(param.box[i]);
    map.has_windows = !param.windows.empty();
    for (std::size_t i = 0; i < param.windows.size(); ++i) {
        map.element_strides[i + 1] = static_cast<std::uint32_t>(param.windows[i].step);
        map.lower_corner[i] = param.windows[i].first;
        map.upper_corner[i] = param.windows[i].last;
    }
    for (std::size_t i = 0; i < map.rank; ++i) {
        const int dim = param.dims[i];
        map.extents[i] = map_extent(param, i, tensor);
        std::uint64_t stride = i == 0 ? bytes : round_up(span, 16);
        // The stride of an extent of one is never used and may be anything in the tensor, but the
        // driver still requires a multiple of 16.
        if (i > 0 && map.extents[i] > 1) stride = tensor.strides[dim] * bytes;
        if (i > 0) map.stride_bytes[i - 1] = stride;
        span = std::max(span, stride * map.extents[i]);
    }
    return map;
}

}  // namespace fact::gpu

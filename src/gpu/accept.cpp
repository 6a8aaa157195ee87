// Which records and which tensors the launcher accepts.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "gpu/launch_plan.h"

namespace fact::gpu {

namespace {

// ---- records ----

struct RecordChecker {
    const LaunchRecord& record;

    int num_bound() const { return static_cast<int>(record.params.size() + record.outputs.size()); }

    // The rank of a tensor of the call, or -1.
    int rank(int tensor) const {
        if (tensor < 0 || tensor >= record.num_tensors()) return -1;
        if (tensor >= num_bound()) {
            const auto& workspace = record.workspaces[tensor - num_bound()];
            return static_cast<int>(workspace.sizes.size()) + (workspace.copies > 1);
        }
        return spec(tensor).rank;
    }
    const TensorSpec& spec(int tensor) const {
        const int num_params = static_cast<int>(record.params.size());
        return tensor < num_params ? record.params[tensor] : record.outputs[tensor - num_params];
    }
    DType dtype(int tensor) const {
        return tensor < num_bound() ? spec(tensor).dtype
                                    : record.workspaces[tensor - num_bound()].dtype;
    }

    bool has(int tensor, int dim) const { return dim >= 0 && dim < rank(tensor); }
    bool has_all(const std::vector<DimOf>& dims) const {
        return std::all_of(dims.begin(), dims.end(),
                           [&](const DimOf& dim) { return has(dim.tensor, dim.dim); });
    }
    // Only of parameters and outputs: what a workspace's own size may follow from.
    bool has_all_bound(const std::vector<DimOf>& dims) const {
        return has_all(dims) && std::all_of(dims.begin(), dims.end(), [&](const DimOf& dim) {
                   return dim.tensor < num_bound();
               });
    }

    std::string map(const TensorMapParam& param) const {
        if (rank(param.tensor) < 0) return "a tensor map of a tensor that is not there";
        for (int i = 0; i < 4; ++i) {
            if (param.dims[i] != kNoDim && !has(param.tensor, param.dims[i]))
                return "a tensor map of a dimension that is not there";
            if (param.box[i] < 1 || param.box[i] > 256) return "a tensor map's box outside 1..256";
        }
        if (param.dims[0] != rank(param.tensor) - 1)
            return "a tensor map whose innermost dimension is not the contiguous one";
        const int inner = param.box[0] * info(dtype(param.tensor)).bytes;
        const int swizzle = param.swizzle_bytes;
        if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
            return "a tensor map's swizzle that is not 0, 32, 64 or 128 bytes";
        if (inner % 16 != 0 || (swizzle != 0 && inner > swizzle))
            return "a tensor map's box rows that are not whole 16 bytes inside the swizzle";
        return "";
    }

    std::string plain(const StructParam& param) const {
        for (const auto& member : param.members) {
            int bytes = 0;
            bool known = true;
            std::visit(overloaded{
                           [&](const PointerField& f) { bytes = 8, known = rank(f.tensor) >= 0; },
                           [&](const ExtentField& f) { bytes = 4, known = has_all(f.dims); },
                           [&](const StrideField& f) {
                               bytes = 8, known = f.dim == kNoDim || has(f.tensor, f.dim);
                           },
                           [&](const IntegerField&) { bytes = 4; },
                       },
                       member.field);
            if (!known) return "a parameter of a tensor or dimension that is not there";
            if (member.offset < 0 || member.offset % bytes || member.offset + bytes > param.bytes)
                return "a parameter's member outside its struct";
        }
        return "";
    }

    std::string launch(const Launch& launch) const {
        if (launch.block < 1 || launch.block > 1024) return "a block size outside 1..1024";
        const auto [cluster_m, cluster_n] = launch.cluster;
        if (cluster_m < 1 || cluster_n < 1 || cluster_m * cluster_n > 16)
            return "a cluster outside 1..16";
        if (launch.shared_bytes < 0) return "negative shared memory";
        const auto tiles = [&](const auto& grid) {
            return grid.tile_m > 0 && grid.tile_n > 0 && has_all(grid.m) && has_all(grid.n) &&
                   has_all(grid.batch);
        };
        const bool grid_ok = std::visit(
            overloaded{
                [&](const PersistentGrid& grid) { return tiles(grid); },
                [&](const TileGrid& grid) { return tiles(grid); },
                [&](const LinearGrid& grid) { return grid.per_block > 0 && has_all(grid.count); },
            },
            launch.grid);
        if (!grid_ok) return "a grid over a dimension that is not there";
        for (const auto& param : launch.params) {
            std::string why = std::visit(overloaded{[&](const TensorMapParam& p) { return map(p); },
                                                    [&](const StructParam& p) { return plain(p); }},
                                         param);
            if (!why.empty()) return why;
        }
        return "";
    }
};

// ---- tensors ----

std::string tensor_name(const LaunchRecord& record, int tensor) {
    RecordChecker checker{record};
    if (tensor < checker.num_bound()) return checker.spec(tensor).name;
    return fmt::format("workspace {}", tensor - checker.num_bound());
}

std::string shape_refusal(const TensorSpec& spec, const TensorArg& tensor) {
    const auto rank = static_cast<int>(tensor.sizes.size());
    if (rank != spec.rank)
        return fmt::format("{} has {} dimensions where the kernel has {}", spec.name, rank,
                           spec.rank);
    if (tensor.strides.size() != tensor.sizes.size())
        throw InternalError("TensorArg: sizes and strides differ in length");
    if (tensor.dtype != spec.dtype)
        return fmt::format("{} is {} where the kernel has {}", spec.name, info(tensor.dtype).name,
                           info(spec.dtype).name);
    for (int i = 0; i < rank; ++i)
        if (tensor.sizes[i] < 1) return fmt::format("{} is empty", spec.name);
    if (rank > 0 && tensor.sizes.back() > 1 && tensor.strides.back() != 1)
        return fmt::format("{} is not contiguous in its last dimension (stride {})", spec.name,
                           tensor.strides.back());
    return "";
}

// The rules of cuTensorMapEncodeTiled for a tensor's strides and address.
std::string map_refusal(std::string_view name, const TensorMapParam& param,
                        const TensorArg& tensor) {
    const std::int64_t bytes = info(tensor.dtype).bytes;
    if (reinterpret_cast<std::uintptr_t>(tensor.data) % 16 != 0)
        return fmt::format("{} does not start at a multiple of 16 bytes", name);
    for (int i = 0; i < 4; ++i) {
        const int dim = param.dims[i];
        if (dim == kNoDim) continue;
        if (tensor.sizes[dim] > std::numeric_limits<std::uint32_t>::max())
            return fmt::format("{} has an extent of {}, TMA's limit is 2^32", name,
                               tensor.sizes[dim]);
        if (i == 0 || tensor.sizes[dim] == 1) continue;
        const std::int64_t stride = tensor.strides[dim] * bytes;
        if (stride <= 0 || stride % 16 != 0 || stride >= std::int64_t{1} << 40)
            return fmt::format(
                "{} has a stride of {} bytes in dimension {}; TMA takes positive multiples of 16 "
                "below 2^40",
                name, stride, dim);
    }
    return "";
}

bool aligned(const TensorArg& tensor, int bytes) {
    if (reinterpret_cast<std::uintptr_t>(tensor.data) % bytes != 0) return false;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
        if (tensor.sizes[i] > 1 && tensor.strides[i] != 1 &&
            tensor.strides[i] * info(tensor.dtype).bytes % bytes != 0)
            return false;
    return true;
}

std::string launch_refusal(const LaunchRecord& record, const Launch& launch,
                           std::span<const TensorArg> all) {
    constexpr std::int64_t kInt32 = std::numeric_limits<std::int32_t>::max();
    for (const auto& param : launch.params) {
        if (const auto* map = std::get_if<TensorMapParam>(&param)) {
            std::string why = map_refusal(tensor_name(record, map->tensor), *map, all[map->tensor]);
            if (!why.empty()) return why;
            continue;
        }
        for (const auto& member : std::get<StructParam>(param).members)
            if (const auto* extent = std::get_if<ExtentField>(&member.field);
                extent && extent_product(extent->dims, all) > kInt32)
                return "an extent does not fit into 32 bits";
    }
    const GridSize grid = grid_size(launch, all, kInt32 / 16);
    if (grid.x > kInt32 || grid.y > 65535 || grid.z > 65535)
        return fmt::format("the grid {}x{}x{} is larger than CUDA allows", grid.x, grid.y, grid.z);
    return "";
}

}  // namespace

std::string invalid(const LaunchRecord& record) {
    RecordChecker checker{record};
    for (const auto& group : record.equal_extents)
        if (!checker.has_all_bound(group)) return "equal extents of a dimension that is not there";
    for (const auto& workspace : record.workspaces) {
        if (workspace.copies < 1) return "a workspace without a copy";
        for (const auto& dims : workspace.sizes)
            if (!checker.has_all_bound(dims))
                return "a workspace sized by a dimension that is not there";
    }
    if (record.launches.empty()) return "no launch";
    for (const auto& launch : record.launches) {
        if (launch.prepares_from >= static_cast<int>(record.params.size()))
            return "a launch that prepares from a parameter that is not there";
        if (std::string why = checker.launch(launch); !why.empty()) return why;
    }
    return "";
}

std::string refuses(const LaunchRecord& record, std::span<const TensorArg> tensors) {
    RecordChecker checker{record};
    if (static_cast<int>(tensors.size()) != checker.num_bound())
        return fmt::format("{} tensors given where the kernel has {}", tensors.size(),
                           checker.num_bound());
    for (int i = 0; i < checker.num_bound(); ++i)
        if (std::string why = shape_refusal(checker.spec(i), tensors[i]); !why.empty()) return why;

    for (const auto& group : record.equal_extents)
        for (const auto& dim : group) {
            const auto& first = group.front();
            const auto expected = tensors[first.tensor].sizes[first.dim];
            const auto extent = tensors[dim.tensor].sizes[dim.dim];
            if (extent != expected)
                return fmt::format("{} has {} in dimension {} where {} has {} in dimension {}",
                                   checker.spec(dim.tensor).name, extent, dim.dim,
                                   checker.spec(first.tensor).name, expected, first.dim);
        }

    for (const auto& rule : record.alignments)
        if (!aligned(tensors[rule.tensor], rule.bytes))
            return fmt::format("{} does not start and step at multiples of {} bytes",
                               checker.spec(rule.tensor).name, rule.bytes);

    std::vector<TensorArg> all(tensors.begin(), tensors.end());
    for (auto& workspace : workspaces(record, tensors)) all.push_back(std::move(workspace));
    for (const auto& launch : record.launches)
        if (std::string why = launch_refusal(record, launch, all); !why.empty()) return why;
    return "";
}

}  // namespace fact::gpu

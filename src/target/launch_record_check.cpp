// inconsistency(), which target/launch_record.h declares: checks a record when it is read, since it
// may come from an untrusted package, and the launcher uses the record's numbers as indices.
#include <fmt/format.h>

#include "target/launch_record.h"

namespace fact {
namespace {

class Checker {
  public:
    explicit Checker(const LaunchRecord& record) : record_(record) {}

    std::string run() {
        for (const auto& specs : {record_.params, record_.outputs})
            for (const TensorSpec& spec : specs)
                require(spec.rank >= 0 && spec.rank <= kMaxRank,
                        fmt::format("rank {} of {}", spec.rank, spec.name));
        for (const auto& group : record_.equal_extents) check_bound(group);
        for (const ExtentRule& rule : record_.extent_rules) {
            check_bound(rule.of);
            check_bound(rule.extent);
            require(!rule.of.dims.empty(), "number of dimensions of an extent rule");
        }
        for (const MergedView& view : record_.views) check(view);
        if (!problem_.empty()) return problem_;  // ranks of views are sums over their runs
        for (const Alignment& rule : record_.alignments) {
            require(rule.bytes >= 1, fmt::format("alignment to {} bytes", rule.bytes));
            const bool exists = is_tensor(rule.tensor);
            require(exists, fmt::format("tensor {}", rule.tensor));
            require(
                rule.row_dims >= 1 && (!exists || rule.row_dims <= std::max(rank(rule.tensor), 1)),
                fmt::format("row of {} dimensions", rule.row_dims));
        }
        for (const ExtentField& count : record_.counts) check_bound(count);
        for (const Workspace& space : record_.workspaces) {
            require(space.copies >= 1, fmt::format("{} copies of a workspace", space.copies));
            for (const ExtentField& size : space.sizes) {
                check_bound(size);
            }
        }
        require(!record_.launches.empty(), "number of launches");
        for (const Launch& launch : record_.launches) check(launch);
        return problem_;
    }

  private:
    static constexpr int kMaxRank = 16;
    static constexpr int kMaxTimes = 1 << 16;     // times an extent, it fits 64 bits
    static constexpr int kMaxBlock = 1024;        // threads: CUDA's limit
    static constexpr int kMaxBox = 256;           // along a dimension: the hardware's limit
    static constexpr int kMaxClusterBlocks = 16;  // the hardware's limit
    static constexpr int kMaxParamBytes = 32764;  // CUDA's limit, of all parameters together

    // Keeps the first problem. `what` is the subject of the message "... is out of range".
    void require(bool holds, const std::string& what) {
        if (!holds && problem_.empty()) problem_ = what + " is out of range";
    }

    bool is_tensor(int number) const {
        return number >= 0 &&
               number < record_.num_tensors() + static_cast<int>(record_.views.size());
    }

    int rank(int tensor) const {
        if (tensor >= record_.num_tensors())
            return static_cast<int>(
                record_.views[static_cast<std::size_t>(tensor - record_.num_tensors())]
                    .runs.size());
        if (tensor < record_.num_bound()) return record_.spec(tensor).rank;
        const Workspace& space = workspace(tensor);
        return static_cast<int>(space.sizes.size()) + (space.copies > 1 ? 1 : 0);
    }
    DType dtype(int number) const {
        const int tensor = record_.behind_view(number);
        return tensor < record_.num_bound() ? record_.spec(tensor).dtype : workspace(tensor).dtype;
    }
    const Workspace& workspace(int tensor) const {
        return record_.workspaces[static_cast<std::size_t>(tensor - record_.num_bound())];
    }

    // Views show tensors, not other views.
    void check(const MergedView& view) {
        const bool exists = view.tensor >= 0 && view.tensor < record_.num_tensors();
        require(exists, fmt::format("tensor {}", view.tensor));
        int dims = 0;
        for (const int run : view.runs) {
            require(run >= 1 && run <= kMaxRank, fmt::format("run of {} dimensions", run));
            if (!problem_.empty()) return;
            dims += run;
        }
        require(!exists || dims == rank(view.tensor), fmt::format("view of {} dimensions", dims));
    }

    void check_dim(int tensor, int dim) {
        const bool exists = is_tensor(tensor);
        require(exists, fmt::format("tensor {}", tensor));
        if (exists)
            require(dim >= kNoDim && dim < rank(tensor),
                    fmt::format("dimension {} of tensor {}", dim, tensor));
    }

    void check_product(const std::vector<DimOf>& dims) {
        for (const DimOf& dim : dims) {
            require(dim.dim >= 0, fmt::format("dimension {} of tensor {}", dim.dim, dim.tensor));
            require(dim.step > 0, fmt::format("steps of {}", dim.step));
            require(dim.times > 0 && dim.times <= kMaxTimes, fmt::format("{} times", dim.times));
            check_dim(dim.tensor, dim.dim);
        }
    }

    void check(const ExtentField& extent) {
        check_product(extent.dims);
        check_product(extent.divisor_dims);
        require(extent.factor > 0 && extent.divisor > 0,
                fmt::format("extent times {} over {}", extent.factor, extent.divisor));
    }

    // Dimensions of parameters and outputs only: sizes of workspaces are computed from them.
    void check_bound(const ExtentField& extent) {
        check(extent);
        check_bound(extent.dims);
        check_bound(extent.divisor_dims);
    }
    void check_bound(const std::vector<DimOf>& dims) {
        check_product(dims);
        for (const DimOf& dim : dims)
            require(dim.tensor < record_.num_bound(), fmt::format("tensor {}", dim.tensor));
    }

    void check(const Grid& grid, int cluster_blocks) {
        auto tiled = [this](const auto& g) {
            require(g.tile_m > 0 && g.tile_n > 0, fmt::format("tile {}x{}", g.tile_m, g.tile_n));
            for (const auto& dims : {g.m, g.n, g.batch}) check_product(dims);
        };
        std::visit(overloaded{[&](const PersistentGrid& g) {
                                  tiled(g);
                                  require(g.tile_k >= 0, fmt::format("k-tile of {}", g.tile_k));
                                  check_product(g.k);
                                  require(g.max_blocks == 0 || g.max_blocks >= cluster_blocks,
                                          fmt::format("grid of {} blocks", g.max_blocks));
                              },
                              [&](const LinearGrid& g) {
                                  require(g.per_block > 0, "elements per block");
                                  require(g.waves >= 0, "waves of blocks");
                                  check(g.count);
                              },
                              [&](const TileGrid& g) {
                                  tiled(g);
                                  require(g.max_z >= 0, fmt::format("grid depth {}", g.max_z));
                              }},
                   grid);
    }

    void check(const TensorMapParam& map) {
        check_dim(map.tensor, kNoDim);
        const std::size_t box_dims = map.windows.empty() ? map.dims.size() : 2;
        require(!map.dims.empty() && map.dims.size() <= TensorMapParam::kMaxDims &&
                    map.box.size() == box_dims &&
                    (map.windows.empty() || map.dims.size() == map.windows.size() + 2),
                fmt::format("tensor map of {} dimensions", map.dims.size()));
        for (const WindowReach& along : map.windows) check(along, map.windows.size());
        require(map.taps.empty() || (map.windows.empty() && map.taps.size() < map.dims.size()),
                fmt::format("tensor map with taps along {} dimensions", map.taps.size()));
        if (!problem_.empty()) return;
        // A row of one pixel would not overlap the next: it could be the only one, of any stride.
        for (std::size_t i = 0; i < map.taps.size(); ++i)
            require(map.taps[i] >= (i == 0 ? 2 : 1) && map.taps[i] <= kMaxTimes &&
                        map.dims[i + 1] != kNoDim,
                    fmt::format("row of {} taps", map.taps[i]));
        for (int dim : map.dims) check_dim(map.tensor, dim);
        for (int extent : map.box) require(extent >= 1 && extent <= kMaxBox, "box of a tensor map");
        require(map.swizzle_bytes == 0 || map.swizzle_bytes == 32 || map.swizzle_bytes == 64 ||
                    map.swizzle_bytes == 128,
                fmt::format("swizzle {}", map.swizzle_bytes));
        if (!problem_.empty()) return;
        require(map.dims[0] == rank(map.tensor) - 1, "innermost dimension of a tensor map");
        const int row_bytes = map.box[0] * info(dtype(map.tensor)).bytes;
        require(row_bytes % 16 == 0 && (map.swizzle_bytes == 0 || row_bytes <= map.swizzle_bytes),
                fmt::format("row of {} bytes in a tensor map's box", row_bytes));
    }

    void check(const WindowReach& along, std::size_t dims) {
        const int reach = WindowReach::reach(dims);
        require(along.step >= 1 && along.step <= WindowReach::kMaxStep,
                fmt::format("step of {}", along.step));
        for (const int end : {along.first, along.last})
            require(end >= -reach && end < reach, fmt::format("window at {}", end));
    }

    void check(const StructParam& param) {
        require(param.bytes >= 0 && param.bytes <= kMaxParamBytes,
                fmt::format("struct of {} bytes", param.bytes));
        if (!problem_.empty()) return;
        for (const auto& [offset, field] : param.members) {
            int bytes = std::visit(
                overloaded{[&](const PointerField& f) { return check_dim(f.tensor, kNoDim), 8; },
                           [&](const ExtentField& f) { return check(f), 4; },
                           [&](const StrideField& f) { return check_dim(f.tensor, f.dim), 8; },
                           [](const TokenField&) { return 8; }},
                field);
            require(offset >= 0 && offset % bytes == 0 && offset <= param.bytes - bytes,
                    fmt::format("offset {} in a struct of {} bytes", offset, param.bytes));
        }
    }

    void check(const Launch& launch) {
        require(launch.block >= 1 && launch.block <= kMaxBlock,
                fmt::format("block of {} threads", launch.block));
        for (int extent : launch.cluster)
            require(extent >= 1 && extent <= kMaxClusterBlocks,
                    fmt::format("cluster extent {}", extent));
        if (!problem_.empty()) return;  // numbers out of range may overflow below
        require(launch.cluster[0] * launch.cluster[1] <= kMaxClusterBlocks,
                "number of blocks in a cluster");
        require(launch.shared_bytes >= 0, "size of the shared memory");
        int previous = -1;
        for (const int param : launch.prepares_from) {
            require(param > previous && param < static_cast<int>(record_.params.size()),
                    fmt::format("prepared parameter {}", param));
            previous = param;
        }
        check(launch.grid, launch.cluster[0] * launch.cluster[1]);
        for (const KernelParam& param : launch.params)
            std::visit([this](const auto& p) { check(p); }, param);
    }

    const LaunchRecord& record_;
    std::string problem_;
};

}  // namespace

std::string inconsistency(const LaunchRecord& record) {
    return Checker(record).run();
}

}  // namespace fact

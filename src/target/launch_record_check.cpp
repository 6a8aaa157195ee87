// A record may come from a stranger's package: the launcher indexes by it, so it is checked once.
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
        for (const auto& group : record_.equal_extents) product(group);
        for (const Alignment& rule : record_.alignments) {
            require(rule.bytes >= 1, fmt::format("alignment to {} bytes", rule.bytes));
            dimension(rule.tensor, kNoDim);
        }
        for (const Workspace& space : record_.workspaces) {
            require(space.copies >= 1, fmt::format("{} copies of a workspace", space.copies));
            for (const auto& size : space.sizes) product(size);
        }
        require(!record_.launches.empty(), "no launch");
        for (const Launch& launch : record_.launches) check(launch);
        return problem_;
    }

  private:
    static constexpr int kMaxRank = 16;
    static constexpr int kMaxBlock = 1024;

    void require(bool holds, const std::string& otherwise) {
        if (!holds && problem_.empty()) problem_ = otherwise + " is out of range";
    }

    // Dimensions a tensor can have; a workspace's planes may count as one more.
    int rank(int tensor) const {
        std::size_t index = static_cast<std::size_t>(tensor);
        if (index < record_.params.size()) return record_.params[index].rank;
        index -= record_.params.size();
        if (index < record_.outputs.size()) return record_.outputs[index].rank;
        index -= record_.outputs.size();
        return static_cast<int>(record_.workspaces[index].sizes.size()) + 1;
    }

    void dimension(int tensor, int dim) {
        bool known = tensor >= 0 && tensor < record_.num_tensors();
        require(known, fmt::format("tensor {}", tensor));
        if (known)
            require(dim >= kNoDim && dim < rank(tensor),
                    fmt::format("dimension {} of tensor {}", dim, tensor));
    }

    void product(const std::vector<DimOf>& dims) {
        for (const DimOf& dim : dims) {
            require(dim.dim >= 0, fmt::format("dimension {} of tensor {}", dim.dim, dim.tensor));
            dimension(dim.tensor, dim.dim);
        }
    }

    void check(const Grid& grid) {
        auto tiled = [this](const auto& g) {
            require(g.tile_m > 0 && g.tile_n > 0, fmt::format("tile {}x{}", g.tile_m, g.tile_n));
            for (const auto& dims : {g.m, g.n, g.batch}) product(dims);
        };
        std::visit(overloaded{[&](const PersistentGrid& g) { tiled(g); },
                              [&](const LinearGrid& g) {
                                  require(g.per_block > 0, "elements per block");
                                  product(g.count);
                              },
                              [&](const TileGrid& g) { tiled(g); }},
                   grid);
    }

    void check(const TensorMapParam& map) {
        dimension(map.tensor, kNoDim);
        for (int dim : map.dims) dimension(map.tensor, dim);
        for (int extent : map.box) require(extent >= 1 && extent <= 256, "box of a tensor map");
        require(map.swizzle_bytes == 0 || map.swizzle_bytes == 32 || map.swizzle_bytes == 64 ||
                    map.swizzle_bytes == 128,
                fmt::format("swizzle {}", map.swizzle_bytes));
    }

    void check(const StructParam& param) {
        for (const auto& [offset, field] : param.members) {
            int bytes = std::visit(
                overloaded{[&](const PointerField& f) { return dimension(f.tensor, kNoDim), 8; },
                           [&](const ExtentField& f) { return product(f.dims), 4; },
                           [&](const StrideField& f) { return dimension(f.tensor, f.dim), 8; },
                           [](const IntegerField&) { return 4; }},
                field);
            require(offset >= 0 && offset <= param.bytes - bytes,
                    fmt::format("offset {} in a struct of {} bytes", offset, param.bytes));
        }
    }

    void check(const Launch& launch) {
        require(launch.block >= 1 && launch.block <= kMaxBlock,
                fmt::format("block of {}", launch.block));
        for (int extent : launch.cluster)
            require(extent >= 1 && extent <= 16, fmt::format("cluster extent {}", extent));
        require(launch.shared_bytes >= 0, "shared memory");
        require(launch.prepares_from >= -1 &&
                    launch.prepares_from < static_cast<int>(record_.params.size()),
                fmt::format("prepared parameter {}", launch.prepares_from));
        check(launch.grid);
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

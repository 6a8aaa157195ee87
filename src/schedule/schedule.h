// How a product is computed: one point of the search space, independent of what is computed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/enum_table.h"
#include "target/dtype.h"

namespace fact::schedule {

struct Tile {
    int m = 0, n = 0, k = 0;
    bool operator==(const Tile&) const = default;
};
struct Cluster {
    int m = 1, n = 1;
    bool operator==(const Cluster&) const = default;
};
// Two consumer groups share one tile, or each has its own.
enum class Mainloop { cooperative, pingpong };
enum class Raster { m, n };  // the dimension along which tiles are walked first
// persistent: whole tiles; streamk: the k-steps of all tiles in one sequence, cut into equal spans;
// splitk: every tile cut into equal parts along K.
enum class Scheduler { persistent, streamk, splitk };

// Names are those in the language, in records and in logs.
struct MainloopInfo {
    Mainloop mainloop;
    std::string_view name;
    bool tile_per_group;  // each consumer group has its own tile; else they share one
};
inline constexpr auto kMainloops =
    table_of<Mainloop>([](Mainloop mainloop) -> std::optional<MainloopInfo> {
        switch (mainloop) {
            case Mainloop::cooperative:
                return MainloopInfo{mainloop, "cooperative", false};
            case Mainloop::pingpong:
                return MainloopInfo{mainloop, "pingpong", true};
        }
        return std::nullopt;
    });
struct RasterInfo {
    Raster raster;
    std::string_view name;
};
inline constexpr auto kRasters = table_of<Raster>([](Raster raster) -> std::optional<RasterInfo> {
    switch (raster) {
        case Raster::m:
            return RasterInfo{raster, "m"};
        case Raster::n:
            return RasterInfo{raster, "n"};
    }
    return std::nullopt;
});
struct SchedulerInfo {
    Scheduler scheduler;
    std::string_view name;
    bool splits_depth;  // several thread blocks may add up one tile, through memory
};
inline constexpr auto kSchedulers =
    table_of<Scheduler>([](Scheduler scheduler) -> std::optional<SchedulerInfo> {
        switch (scheduler) {
            case Scheduler::persistent:
                return SchedulerInfo{scheduler, "persistent", false};
            case Scheduler::streamk:
                return SchedulerInfo{scheduler, "streamk", true};
            case Scheduler::splitk:
                return SchedulerInfo{scheduler, "splitk", true};
        }
        return std::nullopt;
    });
constexpr const MainloopInfo& info(Mainloop mainloop) {
    return kMainloops[static_cast<std::size_t>(mainloop)];
}
constexpr const RasterInfo& info(Raster raster) {
    return kRasters[static_cast<std::size_t>(raster)];
}
constexpr const SchedulerInfo& info(Scheduler scheduler) {
    return kSchedulers[static_cast<std::size_t>(scheduler)];
}

struct Schedule {
    Tile tile;
    Cluster cluster;
    Mainloop mainloop = Mainloop::cooperative;
    int stages = 0;  // 0: as many as fit
    Raster raster = Raster::m;
    int swizzle = 8;  // tiles walked along the raster before stepping across it
    Scheduler scheduler = Scheduler::persistent;
    bool operator==(const Schedule&) const = default;
};

constexpr bool splits_depth(Scheduler scheduler) {
    return info(scheduler).splits_depth;
}
// "tile 128x256x64 cluster 2x1 mainloop cooperative stages auto scheduler persistent(raster: m,
// swizzle: 8)": the spelling of the language, of records and of logs.
std::string to_string(const Schedule& schedule);

enum class Major { k, mn };  // which dimension of an operand is contiguous

enum class WindowedOperand { none, a, b };  // which one is windows of images

// What a schedule depends on in a product.
struct Problem {
    DType operands = DType::bf16;  // bf16, f16 or f32
    DType output = DType::bf16;
    // f32 operands are split into two parts each, f16 on sm90 and TF32 on sm80; if false, they are
    // rounded to one such number, or neither if `tf32` says so.
    bool split = false;
    bool tf32 = false;  // f32 operands are multiplied as they are in memory, by their leading bits
    Major a = Major::k, b = Major::k;
    long m = 0, n = 0, k = 0, batch = 1;
    // Products with the same A that share a tile, side by side: each has `n` columns in all, and an
    // equal part of a tile's.
    int products = 1;
    WindowedOperand windows = WindowedOperand::none;
    double stored = 1;  // the share of the windows' elements that memory holds: windows overlap
    int unsplit_columns = 1;  // must divide a tile's width, so that flipped columns share a tile
    int full_operands = 0;    // matrices that the epilogue reads besides the accumulator
    bool staged = false;      // one of these matrices is loaded through shared memory
    bool strided = false;     // some tensor of the epilogue is accessed element by element
    bool scattered = false;   // the result is stored element by element
};

// Whether f32 operands become f16 numbers on sm90, those of B in a pass before the product.
constexpr bool converted(const Problem& problem) {
    return problem.operands == DType::f32 && !problem.tf32;
}
// Whether each becomes a single one (kernels/sm90/mainloop_tf32.cuh).
constexpr bool rounded(const Problem& problem) {
    return converted(problem) && !problem.split;
}

// Why the schedule is not legal for the problem on sm90a, or "".
std::string illegal_on_sm90(const Schedule& schedule, const Problem& problem);
// Columns of each product's output that a tile covers.
constexpr int columns_of(const Schedule& schedule, const Problem& problem) {
    return schedule.tile.n / problem.products;
}
// Operand elements loaded per output element and step of K; thread blocks of a cluster share loads.
constexpr double fetched_per_output(const Schedule& s) {
    const double a = static_cast<double>(s.tile.m) / s.cluster.n;
    const double b = static_cast<double>(s.tile.n) / s.cluster.m;
    return (a + b) / (s.tile.m * s.tile.n);
}
// Whether the kernel itself computes the statistics of its rows that its epilogue reads. That pays
// if those of the first rows, which take one or two dozen microseconds on the whole GPU, are done
// before the first tiles are multiplied.
bool finds_statistics_on_sm90(const Schedule& schedule, const Problem& problem);
// The legal schedules that are worth trying, not ranked: without those that walk the tiles like
// another one, or that split K where this cannot pay.
std::vector<Schedule> space_on_sm90(const Problem& problem);
// The product's time in microseconds on an H200, by a model of waves, tensor cores, caches and
// epilogue: good enough to rank schedules, not to predict times.
double expected_us_on_sm90(const Schedule& schedule, const Problem& problem);
// The schedules of space_on_sm90, most promising first.
std::vector<Schedule> candidates_on_sm90(const Problem& problem);
// How a thread block's shared memory is used on sm90: first the ring of stages, then the buffers
// through which results are stored (a warp with more of them waits less).
struct SharedMemory {
    int stages = 0;         // 0: not even two fit
    int store_buffers = 2;  // per consumer warp: 2 or 4
    int bytes = 0;          // sizeof(ProductStorage) in kernels/sm90/product.cuh
};
SharedMemory shared_memory_on_sm90(const Schedule& schedule, const Problem& problem);
// Registers per thread that hold sums: for split operands, those of the k-tile and the total.
int accumulators_on_sm90(const Schedule& schedule, const Problem& problem);

// The same for the sm80 skeleton, which newer GPUs run too. Results are stored from registers, so
// there are no store buffers and the bytes are those of the stages.
std::string illegal_on_sm80(const Schedule& schedule, const Problem& problem);
double expected_us_on_sm80(const Schedule& schedule, const Problem& problem);  // on an A100
std::vector<Schedule> candidates_on_sm80(const Problem& problem);
SharedMemory shared_memory_on_sm80(const Schedule& schedule, const Problem& problem);
// How the warps of a thread block share its tile: four or eight of them in a legal schedule.
struct Warps {
    int m = 1, n = 1;
};
Warps warps_on_sm80(const Schedule& schedule, const Problem& problem);
int accumulators_on_sm80(const Schedule& schedule, const Problem& problem);

}  // namespace fact::schedule

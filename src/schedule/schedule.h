// How a product is computed: one point of the search space, apart from what it computes.
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
enum class Mainloop { cooperative, pingpong };  // two consumer groups on one tile, or on one each
enum class Raster { m, n };                     // along which dimension neighbouring tiles follow
// Whole tiles, tiles laid end to end and cut evenly, or every tile cut into equal parts of its
// depth.
enum class Scheduler { persistent, streamk, splitk };

// How the language, records and logs spell them.
struct MainloopInfo {
    Mainloop mainloop;
    std::string_view name;
    bool own_tiles;  // each consumer group has one; else they share one
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
    bool divides_depth;  // several blocks may add up one tile, through memory
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

constexpr bool divides_depth(Scheduler scheduler) {
    return info(scheduler).divides_depth;
}
// "tile 128x256x64 cluster 2x1 mainloop cooperative stages auto scheduler persistent(raster: m,
// swizzle: 8)": the spelling of the language, of records and of logs.
std::string to_string(const Schedule& schedule);

enum class Major { k, mn };  // which dimension of an operand is contiguous

// What a schedule has to know of a product.
struct Problem {
    DType operands = DType::bf16;  // bf16, f16 or f32
    DType output = DType::bf16;
    // f32 operands as two parts each, f16 on sm90 and TF32 on sm80; else rounded to one of them.
    bool split = false;
    Major a = Major::k, b = Major::k;
    long m = 0, n = 0, k = 0, batch = 1;
    // Products with the same A whose tiles lie side by side: each has this part of a tile's
    // columns, and `n` columns of its own.
    int products = 1;
    int together = 1;       // columns that no tile may part: a head's, where they change places
    int full_operands = 0;  // matrices the epilogue reads beside the accumulator
    bool staged = false;    // one of them comes through shared memory
    bool strided = false;   // some tensor of the epilogue is taken element by element
};

// Whether f32 operands become one number each: f16 on sm90 (kernels/sm90/mainloop_tf32.cuh).
constexpr bool rounded(const Problem& problem) {
    return problem.operands == DType::f32 && !problem.split;
}

// Why the schedule cannot serve the problem on sm90a, or "".
std::string illegal_on_sm90(const Schedule& schedule, const Problem& problem);
// Columns of the output that a tile covers.
constexpr int columns_of(const Schedule& schedule, const Problem& problem) {
    return schedule.tile.n / problem.products;
}
// Elements of the operands that a multiprocessor is sent for each output at each step of K; blocks
// of a cluster share them.
constexpr double fetched_per_output(const Schedule& s) {
    const double a = static_cast<double>(s.tile.m) / s.cluster.n;
    const double b = static_cast<double>(s.tile.n) / s.cluster.m;
    return (a + b) / (s.tile.m * s.tile.n);
}
// Whether the kernel finds statistics of its rows for its epilogue itself: where those of the first
// rows, which take a dozen microseconds or two on all of the GPU, are there before the first tiles
// are multiplied.
bool finds_statistics_on_sm90(const Schedule& schedule, const Problem& problem);
// All legal schedules worth telling apart, in no order of promise.
std::vector<Schedule> space_on_sm90(const Problem& problem);
// What the product takes by a model of waves, tensor cores, caches and epilogue, in microseconds on
// an H200: good for an order, not for a promise.
double expected_us_on_sm90(const Schedule& schedule, const Problem& problem);
// The space, most promising first.
std::vector<Schedule> candidates_on_sm90(const Problem& problem);
// How a schedule divides a block's shared memory on sm90: the ring of stages first, what is left to
// the boxes that results are stored through (a warp with more of them waits less).
struct SharedMemory {
    int stages = 0;         // 0: not even two fit
    int store_buffers = 2;  // of each consumer warp: 2 or 4
    int bytes = 0;          // sizeof(ProductStorage) in kernels/sm90/product.cuh
};
SharedMemory shared_memory_on_sm90(const Schedule& schedule, const Problem& problem);
// Registers of a thread that hold sums: of split operands the k-tile's and the total.
int accumulators_on_sm90(const Schedule& schedule, const Problem& problem);

// The same for the sm80 skeleton, which newer GPUs run too. Results leave from registers: there are
// no store buffers, and the bytes are the stages' alone.
std::string illegal_on_sm80(const Schedule& schedule, const Problem& problem);
double expected_us_on_sm80(const Schedule& schedule, const Problem& problem);  // on an A100
std::vector<Schedule> candidates_on_sm80(const Problem& problem);
SharedMemory shared_memory_on_sm80(const Schedule& schedule, const Problem& problem);
// How the warps of a block divide its tile there: four or eight of them on a legal schedule.
struct Warps {
    int m = 1, n = 1;
};
Warps warps_on_sm80(const Schedule& schedule, const Problem& problem);
int accumulators_on_sm80(const Schedule& schedule, const Problem& problem);

}  // namespace fact::schedule

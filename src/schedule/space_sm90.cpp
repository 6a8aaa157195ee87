// The schedules of the sm90 product skeletons: what is legal, and what is worth trying first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "schedule/schedule.h"

namespace fact::schedule {

namespace {

constexpr int kSharedBytes = 232448;  // a block's limit on sm90
constexpr int kBoxBytes = 8 * 2048;   // a store box for each consumer warp
constexpr int kBarrierBytes = 1024;   // barriers, rounded up to the storage's alignment
constexpr int kMostStages = 8;
constexpr int kMultiprocessors = 132;  // only ranks candidates; launches ask the GPU itself

constexpr long kLongSum = 65536;  // beyond this one level of sums is rounded too often

int parts(const Problem& problem) {
    return problem.operands == DType::f32 ? (problem.split ? 2 : 1) : 1;
}

int stage_bytes(const Schedule& s, const Problem& problem) {
    return (s.tile.m + parts(problem) * s.tile.n) * 128;  // every row of a stage is 128 bytes
}

long ceil_div(long a, long b) {
    return (a + b - 1) / b;
}

bool streamk(const Schedule& s) {
    return s.scheduler == Scheduler::streamk;
}

// Tiles of the output, those included that a cluster computes beyond its edge.
long tile_count(const Schedule& s, const Problem& p) {
    return ceil_div(ceil_div(p.m, s.tile.m), s.cluster.m) * s.cluster.m *
           ceil_div(ceil_div(p.n, s.tile.n), s.cluster.n) * s.cluster.n * p.batch;
}

// The most terms one block adds up for one tile.
long longest_sum(const Schedule& s, const Problem& p) {
    const long tiles = tile_count(s, p);
    return streamk(s) && tiles < kMultiprocessors ? p.k * tiles / kMultiprocessors : p.k;
}

// Cycles the whole problem takes by a crude count: tensor-core work of each wave, and whatever part
// of the epilogue nothing else hides.
double estimated_cycles(const Schedule& s, const Problem& p) {
    const double tiles = static_cast<double>(tile_count(s, p));
    const double rate = p.operands == DType::f32 ? 1024.0 / (p.split ? 3 : 1) : 2048.0;
    const double area = static_cast<double>(s.tile.m) * s.tile.n;
    const double k = static_cast<double>(ceil_div(p.k, s.tile.k)) * s.tile.k;
    // How much of the tensor cores' rate a shape sustains, as measured on an H200.
    const double efficiency = s.tile.m == 64    ? (s.tile.n == 256 ? 0.73 : 0.62)
                              : s.tile.n == 64  ? 0.60
                              : s.tile.n == 256 ? 0.82
                              : s.tile.n == 192 ? 0.80
                                                : 0.79;
    const double mainloop = area * k / rate / efficiency;
    const double finish = area / 128 * (8 + 3 * p.full_operands);
    const double exposed =
        s.mainloop == Mainloop::pingpong ? std::max(0.0, finish - mainloop) : finish;
    const double sharing = s.cluster.m * s.cluster.n > 1 ? 1.0 : 1.06;
    const double waves = tiles / kMultiprocessors;
    if (!streamk(s)) return std::ceil(waves) * (mainloop * sharing + exposed);
    // Each block that helps with a tile leaves its sums for another to read.
    constexpr double kBytesPerCycle = 50;
    const double helpers = std::max(1.0, 1 / waves);
    return waves * mainloop * sharing + finish + helpers * 4 * area / kBytesPerCycle;
}

}  // namespace

SharedMemory shared_memory_on_sm90(const Schedule& s, const Problem& problem) {
    const int stage = stage_bytes(s, problem), room = kSharedBytes - kBarrierBytes;
    SharedMemory memory;
    // A staged operand needs the boxes of two slabs; one of f32 values fills two boxes.
    memory.store_buffers = problem.staged && problem.output == DType::f32 ? 4 : 2;
    const int fit = std::min((room - memory.store_buffers * kBoxBytes) / stage, kMostStages);
    memory.stages = fit < 2 ? 0 : s.stages == 0 ? fit : s.stages;
    if (memory.stages * stage + 4 * kBoxBytes <= room) memory.store_buffers = 4;
    const int barriers = 8 * (2 * memory.stages + 8 * memory.store_buffers);
    memory.bytes =
        (memory.stages * stage + memory.store_buffers * kBoxBytes + barriers + 1023) / 1024 * 1024;
    return memory;
}

// Two groups of 128 threads share a tile, or have one each.
int accumulators_on_sm90(const Schedule& s, const Problem& problem) {
    const int rows = s.mainloop == Mainloop::pingpong ? s.tile.m : s.tile.m / 2;
    return (problem.operands == DType::f32 ? 2 : 1) * rows * s.tile.n / 128;
}

std::string illegal_on_sm90(const Schedule& s, const Problem& p) {
    const bool single = p.operands == DType::f32;
    const int depth = single ? 32 : 64, row = single ? 32 : 64;
    const bool pingpong = s.mainloop == Mainloop::pingpong;
    if (s.tile.k != depth)
        return fmt::format("a k-tile is 128 bytes deep: {} of {}", depth, info(p.operands).name);
    if (single && pingpong) return "f32 products are cooperative only";
    const int group_rows = pingpong ? s.tile.m : s.tile.m / 2;
    if (group_rows != 64 && group_rows != 128)
        return fmt::format("a consumer group takes 64 or 128 rows of a tile, not {}", group_rows);
    if (s.tile.n != 64 && s.tile.n != 128 && (single || (s.tile.n != 192 && s.tile.n != 256)))
        return fmt::format("a tile is 64 or 128 columns wide{}, not {}",
                           single ? "" : ", 192 or 256", s.tile.n);
    if (const int sums = accumulators_on_sm90(s, p); sums > 128)
        return fmt::format("{} accumulators a thread do not fit beside its other registers", sums);
    if (const long terms = longest_sum(s, p); terms > kLongSum && accumulators_on_sm90(s, p) > 64)
        return fmt::format(
            "a sum over {} terms is kept in two levels, and the tile leaves no registers for them",
            terms);
    if (s.cluster.m < 1 || s.cluster.n < 1 || s.cluster.m > 2 || s.cluster.n > 2 ||
        s.cluster.m * s.cluster.n > 4)
        return "a cluster is at most 2x2";
    // Each block of a cluster loads its part of a shared tile: whole rows, or whole 128-byte slabs.
    if (p.a == Major::mn && s.tile.m / row % s.cluster.n != 0)
        return "a tile of A contiguous along M cannot be shared by the cluster's columns";
    if (!single && p.b == Major::mn && s.tile.n / row % s.cluster.m != 0)
        return "a tile of B contiguous along N cannot be shared by the cluster's rows";
    Schedule most = s;
    most.stages = 0;
    const int fit = shared_memory_on_sm90(most, p).stages;
    if (fit == 0) return "not even two stages fit into shared memory";
    if (s.stages != 0 && (s.stages < 2 || s.stages > fit))
        return fmt::format("{} stages do not fit: 2 to {} do", s.stages, fit);
    if (s.swizzle < 1 || s.swizzle > 64) return "a swizzle is 1 to 64 tiles";
    return "";
}

std::vector<Schedule> candidates_on_sm90(const Problem& problem) {
    struct Shape {
        int m, n;
        Mainloop mainloop;
    };
    constexpr std::array<Shape, 9> kShapes{{{128, 128, Mainloop::pingpong},
                                            {128, 256, Mainloop::cooperative},
                                            {256, 128, Mainloop::cooperative},
                                            {128, 192, Mainloop::cooperative},
                                            {128, 128, Mainloop::cooperative},
                                            {64, 256, Mainloop::pingpong},
                                            {64, 128, Mainloop::pingpong},
                                            {128, 64, Mainloop::pingpong},
                                            {128, 64, Mainloop::cooperative}}};
    constexpr std::array<Cluster, 3> kClusters{{{2, 1}, {1, 2}, {1, 1}}};
    struct Variation {
        Raster raster;
        int swizzle, fewer_stages;
        Scheduler scheduler;
    };
    constexpr std::array<Variation, 6> kVariations{{{Raster::m, 8, 0, Scheduler::persistent},
                                                    {Raster::m, 8, 0, Scheduler::streamk},
                                                    {Raster::n, 8, 0, Scheduler::persistent},
                                                    {Raster::m, 8, 1, Scheduler::persistent},
                                                    {Raster::m, 4, 0, Scheduler::persistent},
                                                    {Raster::m, 16, 0, Scheduler::persistent}}};

    struct Ranked {
        double cycles;
        Schedule schedule;
    };
    std::vector<Ranked> ranked;
    for (std::size_t v = 0; v < kVariations.size(); ++v)
        for (const Shape& shape : kShapes)
            for (const Cluster& cluster : kClusters) {
                Schedule s{{shape.m, shape.n, problem.operands == DType::f32 ? 32 : 64},
                           cluster,
                           shape.mainloop,
                           0,
                           kVariations[v].raster,
                           kVariations[v].swizzle,
                           kVariations[v].scheduler};
                if (!illegal_on_sm90(s, problem).empty()) continue;
                // Dividing tiles that fill the GPU only costs: their ends were seen to balance
                // less than the additions took.
                if (streamk(s) && 2 * tile_count(s, problem) > kMultiprocessors) continue;
                if (kVariations[v].fewer_stages > 0) {
                    // A stage less is only worth it where it buys store buffers.
                    const SharedMemory full = shared_memory_on_sm90(s, problem);
                    s.stages = full.stages - kVariations[v].fewer_stages;
                    if (s.stages < 2 || full.store_buffers == 4) continue;
                    if (shared_memory_on_sm90(s, problem).store_buffers == 2) continue;
                }
                // Variations of the walk rarely win by much: they come after every shape within
                // 10 %. But where the output is narrow, walking across it first reads A once.
                const bool narrow = ceil_div(problem.n, s.tile.n) <= 8;
                const double penalty = v == 0 || streamk(s)              ? 1.0
                                       : s.raster == Raster::n && narrow ? 1.01
                                                                         : 1.10 + 0.01 * v;
                ranked.push_back({estimated_cycles(s, problem) * penalty, s});
            }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked& a, const Ranked& b) { return a.cycles < b.cycles; });
    std::vector<Schedule> schedules;
    for (const Ranked& r : ranked) schedules.push_back(r.schedule);
    return schedules;
}

}  // namespace fact::schedule

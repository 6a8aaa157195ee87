// The schedules of the sm90 product skeletons: which are legal, and the resources they take. The
// functions are declared in schedule.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "schedule/limits.h"
#include "schedule/schedule.h"
#include "support/division.h"

namespace fact::schedule {

namespace {

constexpr int kSharedBytes = 232448;  // shared memory of a thread block on sm90, at most
constexpr int kBoxBytes = 8 * 2048;   // one store buffer for each of the eight consumer warps
constexpr int kBarrierBytes = 1024;   // barriers, rounded up to the storage's alignment
constexpr int kMaxStagesSm90 = 8;

// Every row of a stage is 128 bytes, except that 32 values rounded to f16 are 64.
int stage_bytes_sm90(const Schedule& s, const Problem& p) {
    return s.tile.m * 128 + s.tile.n * (rounded(p) ? 64 : 128);
}

// Tiles of the output, including those that clusters compute beyond the output's edge.
long tile_count(const Schedule& s, const Problem& p) {
    return ceil_div(ceil_div(p.m, s.tile.m), s.cluster.m) * s.cluster.m *
           ceil_div(ceil_div(p.n, columns_of(s, p)), s.cluster.n) * s.cluster.n * p.batch;
}

// The most terms that one thread block adds up for one tile.
long longest_sum(const Schedule& s, const Problem& p) {
    const long tiles = tile_count(s, p);
    return splits_depth(s.scheduler) && tiles < kMultiprocessorsSm90
               ? p.k * tiles / kMultiprocessorsSm90
               : p.k;
}

// Splitting tiles along K costs additions. If the tiles fill the GPU it only pays if the last wave
// is short (with three quarters of a wave it lost 4 % to 6 %) and its tiles take long. Parts of a
// tile go to whole clusters.
bool worth_splitting(const Schedule& s, const Problem& p) {
    const long clusters = kMultiprocessorsSm90 / (s.cluster.m * s.cluster.n);
    const long tiles = tile_count(s, p) / (s.cluster.m * s.cluster.n);
    if (!splits_depth(s.scheduler) || 2 * tiles <= clusters) return true;
    if (s.scheduler != Scheduler::streamk || tiles < clusters || tiles % clusters == 0 ||
        2 * (tiles % clusters) > clusters)
        return false;
    constexpr double kProductsPerMicrosecond = 3e6;  // of one multiprocessor
    constexpr double kMinIdle = 15;  // microseconds; splitting was measured to cost 13 to 27
    const double idle = 1 - static_cast<double>(tiles % clusters) / static_cast<double>(clusters);
    const double tile_us = static_cast<double>(s.tile.m) * s.tile.n * static_cast<double>(p.k) /
                           kProductsPerMicrosecond;
    return idle * tile_us >= kMinIdle;
}

}  // namespace

SharedMemory shared_memory_on_sm90(const Schedule& s, const Problem& problem) {
    const int stage = stage_bytes_sm90(s, problem), room = kSharedBytes - kBarrierBytes;
    SharedMemory memory;
    // A staged operand needs the buffers of two slabs; a slab of f32 values fills two buffers.
    memory.store_buffers = problem.staged && problem.output == DType::f32 ? 4 : 2;
    const int fit = std::min((room - memory.store_buffers * kBoxBytes) / stage, kMaxStagesSm90);
    memory.stages = fit < 2 ? 0 : s.stages == 0 ? fit : s.stages;
    if (memory.stages * stage + 4 * kBoxBytes <= room) memory.store_buffers = 4;
    // The last 8 bytes are the number of the cluster.
    const int barriers = 8 * (2 * memory.stages + 8 * memory.store_buffers + 1);
    memory.bytes =
        round_up(memory.stages * stage + memory.store_buffers * kBoxBytes + barriers, 1024);
    return memory;
}

bool finds_statistics_on_sm90(const Schedule& s, const Problem& p) {
    constexpr long kDeep = 2048, kWide = 128 * 256;  // terms of a sum; values of a tile
    return info(p.operands).bytes == 2 && !info(s.mainloop).tile_per_group &&
           s.scheduler != Scheduler::splitk && p.k >= kDeep && s.tile.m * s.tile.n >= kWide &&
           tile_count(s, p) >= kMultiprocessorsSm90;
}

// Two groups of 128 threads share a tile, or each has its own.
int accumulators_on_sm90(const Schedule& s, const Problem& problem) {
    const int rows = info(s.mainloop).tile_per_group ? s.tile.m : s.tile.m / 2;
    return (problem.split ? 2 : 1) * rows * s.tile.n / 128;
}

std::string illegal_on_sm90(const Schedule& s, const Problem& p) {
    const bool f32_operands = p.operands == DType::f32;
    const int depth = f32_operands ? 32 : 64;  // elements in 128 bytes
    const bool pingpong = info(s.mainloop).tile_per_group;
    if (s.tile.k != depth)
        return fmt::format("a k-tile is 128 bytes deep: {} elements of {}", depth,
                           info(p.operands).name);
    if (p.split && pingpong) return "with split f32 operands, mainloop must be cooperative";
    const int group_rows = pingpong ? s.tile.m : s.tile.m / 2;
    if (group_rows != 64 && group_rows != 128)
        return fmt::format("a consumer group takes 64 or 128 rows of a tile, not {}", group_rows);
    if (rounded(p) && group_rows != 64)
        return "a consumer group takes 64 rows if f32 operands are rounded: 128 spill registers";
    if (s.tile.n != 64 && s.tile.n != 128 && (p.split || (s.tile.n != 192 && s.tile.n != 256)))
        return fmt::format("a tile is 64 or 128 columns wide{}, not {}",
                           p.split ? "" : ", 192 or 256", s.tile.n);
    if (p.products > 1 && columns_of(s, p) % (128 / info(p.output).bytes) != 0)
        return fmt::format(
            "each of {} products has {} columns of a tile, which is not a whole number of 128-byte "
            "lines of {}",
            p.products, columns_of(s, p), info(p.output).name);
    if (s.tile.n % p.unsplit_columns != 0)
        return fmt::format(
            "flipped columns must stay in one tile: its width, {}, is not a multiple of {}",
            s.tile.n, p.unsplit_columns);
    if (pingpong && s.tile.m == 128 && s.tile.n == 64)
        return "ptxas serializes the products of a ping-pong tile of 128x64";
    if (const int sums = accumulators_on_sm90(s, p); sums > 128)
        return fmt::format("{} accumulators per thread leave too few other registers", sums);
    const int max_doubled = rounded(p) ? 32 : 64;  // the most accumulators that fit twice
    if (const long terms = longest_sum(s, p);
        terms > kLongSum && accumulators_on_sm90(s, p) > max_doubled)
        return fmt::format(
            "a sum over {} terms needs two levels of sums, and the tile leaves no registers for "
            "them",
            terms);
    if (s.cluster.m < 1 || s.cluster.n < 1 || s.cluster.m > 2 || s.cluster.n > 2 ||
        s.cluster.m * s.cluster.n > 4)
        return fmt::format("a cluster is 1x1 to 2x2, not {}x{}", s.cluster.m, s.cluster.n);
    // Each thread block of a cluster loads its part of a shared tile: whole rows, or whole 128-byte
    // slabs.
    if (p.a == Major::mn && s.tile.m / depth % s.cluster.n != 0)
        return "a tile of A contiguous along M cannot be shared by the cluster's columns";
    if (!f32_operands && p.b == Major::mn && columns_of(s, p) / depth % s.cluster.m != 0)
        return "a tile of B contiguous along N cannot be shared by the cluster's rows";
    Schedule automatic = s;
    automatic.stages = 0;
    const int fit = shared_memory_on_sm90(automatic, p).stages;
    if (fit == 0) return "not even two stages fit into shared memory: choose a smaller tile";
    if (s.stages != 0 && (s.stages < 2 || s.stages > fit))
        return fmt::format("{} stages do not fit: 2 to {} do", s.stages, fit);
    if (converted(p) && s.scheduler == Scheduler::streamk)
        return "with f32 operands, streamk would spill registers: choose splitk";
    if (splits_depth(s.scheduler) && s.tile.m == 256)
        return "adding up the parts of a tile of 256 rows would spill registers";
    if (s.scheduler == Scheduler::splitk && pingpong)
        return "split-K gives a thread block one part of one tile: ping-pong needs two tiles";
    if (s.swizzle < 1 || s.swizzle > 64)
        return fmt::format("a swizzle is 1 to 64 tiles, not {}", s.swizzle);
    return "";
}

namespace {

// The space: every legal combination of these.
struct Shape {
    int m, n;
    Mainloop mainloop;
};
constexpr std::array<Shape, 8> kShapes{{{128, 128, Mainloop::pingpong},
                                        {128, 256, Mainloop::cooperative},
                                        {256, 128, Mainloop::cooperative},
                                        {128, 192, Mainloop::cooperative},
                                        {128, 128, Mainloop::cooperative},
                                        {64, 256, Mainloop::pingpong},
                                        {64, 128, Mainloop::pingpong},
                                        {128, 64, Mainloop::cooperative}}};
constexpr std::array<Cluster, 4> kClusters{{{2, 1}, {1, 2}, {1, 1}, {2, 2}}};
constexpr std::array<Scheduler, 3> kTriedSchedulers{
    {Scheduler::persistent, Scheduler::splitk, Scheduler::streamk}};
constexpr std::array<int, 5> kSwizzles{{8, 4, 16, 2, 1}};

// Whether an earlier combination visits the tiles in the same order.
bool repeats_a_walk(const Schedule& s, const Problem& p) {
    const long rows = ceil_div(p.m, s.tile.m * s.cluster.m);
    const long columns = ceil_div(p.n, columns_of(s, p) * s.cluster.n);
    const long along = s.raster == Raster::m ? rows : columns;
    const long across = s.raster == Raster::m ? columns : rows;
    if (splits_depth(s.scheduler) &&
        rows * columns * p.batch * s.cluster.m * s.cluster.n <= kMultiprocessorsSm90)
        return s.raster == Raster::n || s.swizzle != kSwizzles.front();
    // Of bands wider than the tiles along the raster, only the first swizzle and narrower ones are
    // tried.
    if (s.swizzle > along && s.swizzle > kSwizzles.front()) return true;
    if (along == 1 && s.swizzle != kSwizzles.front()) return true;
    if (s.raster == Raster::n && (along == 1 || across == 1)) return true;
    return across == 1 && s.swizzle != kSwizzles.front();
}

// Whether blocks of a cluster load parts of windows for each other. Whole convolutions were slowest
// under such schedules; the product itself was not timed apart.
bool shares_windows(const Schedule& s, const Problem& p) {
    return (p.windows == WindowedOperand::a && s.cluster.n > 1) ||
           (p.windows == WindowedOperand::b && s.cluster.m > 1);
}

// The schedule with one stage less, if that frees room for more store buffers.
std::optional<Schedule> with_one_stage_less(Schedule s, const Problem& problem) {
    const SharedMemory full = shared_memory_on_sm90(s, problem);
    s.stages = full.stages - 1;
    if (s.stages < 2 || full.store_buffers == 4) return std::nullopt;
    if (shared_memory_on_sm90(s, problem).store_buffers == 2) return std::nullopt;
    return s;
}

}  // namespace

std::vector<Schedule> space_on_sm90(const Problem& problem) {
    std::vector<Schedule> space;
    const int depth = problem.operands == DType::f32 ? 32 : 64;
    for (const Shape& shape : kShapes)
        for (const Cluster& cluster : kClusters)
            for (const Scheduler scheduler : kTriedSchedulers)
                for (const Raster raster : {Raster::m, Raster::n})
                    for (const int swizzle : kSwizzles) {
                        const Schedule s{{shape.m, shape.n, depth},
                                         cluster,
                                         shape.mainloop,
                                         0,
                                         raster,
                                         swizzle,
                                         scheduler};
                        if (repeats_a_walk(s, problem) || !worth_splitting(s, problem) ||
                            shares_windows(s, problem))
                            continue;
                        if (!illegal_on_sm90(s, problem).empty()) continue;
                        space.push_back(s);
                        if (const auto less = with_one_stage_less(s, problem))
                            space.push_back(*less);
                    }
    return space;
}

}  // namespace fact::schedule

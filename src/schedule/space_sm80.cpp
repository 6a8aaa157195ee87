// The schedules of the sm80 product skeleton: what is legal, and what is worth trying first. The
// functions are declared in schedule.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "schedule/limits.h"
#include "schedule/schedule.h"
#include "support/division.h"

namespace fact::schedule {

namespace {

constexpr int kBlockBytes = 166912;  // shared memory of a thread block on an A100, at most
constexpr int kHalfBytes = 82944;    // with at most this, two of them fit on a multiprocessor
constexpr int kMaxStagesSm80 = 5;
constexpr int kWarpColumns = 64;  // a warp's epilogue handles 64 columns at a time

bool is_f32(const Problem& problem) {
    return problem.operands == DType::f32;
}

int stage_bytes_sm80(const Schedule& s, const Problem& problem) {
    return (s.tile.m + s.tile.n) * s.tile.k * info(problem.operands).bytes;
}

int num_warps(const Schedule& s, const Problem& problem) {
    const Warps warps = warps_on_sm80(s, problem);
    return warps.m * warps.n;
}

bool one_of(int value, std::initializer_list<int> allowed) {
    return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

// A crude estimate of the cycles: waves of tiles, each at the rate its shape sustains.
double estimated_cycles(const Schedule& s, const Problem& p) {
    const double tiles =
        static_cast<double>(ceil_div(p.m, s.tile.m) * ceil_div(p.n, s.tile.n) * p.batch);
    // Multiply-adds per cycle of a multiprocessor.
    const double rate = is_f32(p) ? 512.0 / (p.split ? 3 : 1) : 1024.0;
    const double area = static_cast<double>(s.tile.m) * s.tile.n;
    const double efficiency = area >= 32768   ? 0.85
                              : area >= 16384 ? 0.80
                              : area >= 8192  ? 0.65
                                              : 0.5;
    const double k = static_cast<double>(ceil_div(p.k, s.tile.k)) * s.tile.k;
    const double epilogue = area / 128 * (16 + 4 * p.full_operands);
    const int resident =  // thread blocks per multiprocessor
        shared_memory_on_sm80(s, p).bytes <= kHalfBytes && num_warps(s, p) == 4 ? 2 : 1;
    // Two thread blocks share the tensor cores: one runs its epilogue while the other multiplies.
    const double waves = std::ceil(tiles / (kMultiprocessorsSm80 * resident)) * resident;
    return waves * (area * k / rate / efficiency + epilogue / resident);
}

}  // namespace

// A warp takes 64 rows, or fewer so that there are at least four warps. It takes at most 32 if it
// needs the registers: for two levels of sums of f32 operands, or for addresses of single elements.
Warps warps_on_sm80(const Schedule& s, const Problem& problem) {
    const int columns = std::max(s.tile.n / kWarpColumns, 1);
    int rows = is_f32(problem) || problem.strided ? 32 : 64;
    while (rows > 16 && s.tile.m / rows * columns < 4) rows /= 2;
    return {std::max(s.tile.m / rows, 1), columns};
}

int accumulators_on_sm80(const Schedule& s, const Problem& problem) {
    return (is_f32(problem) ? 2 : 1) * s.tile.m * s.tile.n / (32 * num_warps(s, problem));
}

SharedMemory shared_memory_on_sm80(const Schedule& s, const Problem& problem) {
    const int stage = stage_bytes_sm80(s, problem);
    // If registers allow a second thread block on the multiprocessor, shared memory should too.
    const int room =
        num_warps(s, problem) == 4 && 2 * stage <= kHalfBytes ? kHalfBytes : kBlockBytes;
    SharedMemory memory;
    memory.store_buffers = 0;
    const int fit = std::min(room / stage, kMaxStagesSm80);
    memory.stages = fit < 2 ? 0 : s.stages == 0 ? fit : s.stages;
    memory.bytes = memory.stages * stage;
    return memory;
}

std::string illegal_on_sm80(const Schedule& s, const Problem& p) {
    if (s.mainloop != Mainloop::cooperative)
        return "on sm80 all warps of a thread block share one tile: mainloop must be cooperative";
    if (s.cluster != Cluster{}) return "sm80 has no clusters: cluster must be 1x1";
    if (s.scheduler != Scheduler::persistent)
        return "the sm80 skeleton computes whole tiles: scheduler must be persistent";
    if (is_f32(p) ? s.tile.k != 32 : !one_of(s.tile.k, {32, 64}))
        return fmt::format("a k-tile is {} deep, not {}", is_f32(p) ? "32" : "32 or 64", s.tile.k);
    if (!one_of(s.tile.m, {64, 128, 256}))
        return fmt::format("a tile has 64, 128 or 256 rows, not {}", s.tile.m);
    if (!one_of(s.tile.n, {64, 128, 256}))
        return fmt::format("a tile is 64, 128 or 256 columns wide, not {}", s.tile.n);
    if (num_warps(s, p) > 8)
        return fmt::format("a tile of {}x{} takes {} warps, more than the eight of a thread block",
                           s.tile.m, s.tile.n, num_warps(s, p));
    if (!is_f32(p) && p.k > kLongSum && accumulators_on_sm80(s, p) > 32)
        return fmt::format(
            "a sum over {} terms needs two levels of sums, and the tile leaves no registers for "
            "them",
            p.k);
    const int fit = std::min(kBlockBytes / stage_bytes_sm80(s, p), kMaxStagesSm80);
    if (fit < 2) return "not even two stages fit into shared memory: choose a smaller tile";
    if (s.stages != 0 && (s.stages < 2 || s.stages > fit))
        return fmt::format("{} stages do not fit: 2 to {} do", s.stages, fit);
    if (s.swizzle < 1 || s.swizzle > 64)
        return fmt::format("a swizzle is 1 to 64 tiles, not {}", s.swizzle);
    return "";
}

double expected_us_on_sm80(const Schedule& s, const Problem& problem) {
    constexpr double kClock = 1.41e3;  // of an A100, cycles per microsecond
    return estimated_cycles(s, problem) / kClock;
}

std::vector<Schedule> candidates_on_sm80(const Problem& problem) {
    struct Shape {
        int m, n;
    };
    constexpr std::array<Shape, 7> kShapes{
        {{128, 128}, {128, 256}, {256, 128}, {128, 64}, {64, 128}, {64, 64}, {256, 64}}};
    struct Variation {
        int k, stages;
        Raster raster;
    };
    constexpr std::array<Variation, 5> kVariations{{{32, 0, Raster::m},
                                                    {64, 0, Raster::m},
                                                    {64, 3, Raster::m},
                                                    {32, 3, Raster::m},
                                                    {32, 0, Raster::n}}};
    struct Ranked {
        double cycles;
        Schedule schedule;
    };
    std::vector<Ranked> ranked;
    for (std::size_t v = 0; v < kVariations.size(); ++v)
        for (const Shape& shape : kShapes) {
            Schedule s;
            s.tile = {shape.m, shape.n, kVariations[v].k};
            s.stages = kVariations[v].stages;
            s.raster = kVariations[v].raster;
            if (!illegal_on_sm80(s, problem).empty()) continue;
            Schedule automatic = s;
            automatic.stages = 0;
            // The same as the candidate with automatic stages.
            if (s.stages != 0 && shared_memory_on_sm80(automatic, problem).stages == s.stages)
                continue;
            // Later variations are less promising.
            ranked.push_back(
                {estimated_cycles(s, problem) * (1 + 0.03 * static_cast<double>(v)), s});
        }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked& a, const Ranked& b) { return a.cycles < b.cycles; });
    std::vector<Schedule> schedules;
    for (const Ranked& r : ranked) schedules.push_back(r.schedule);
    return schedules;
}

}  // namespace fact::schedule

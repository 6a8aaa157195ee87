// How long a product takes under a schedule: a model of waves, tensor cores, caches and memory,
// with constants fitted to every legal schedule of eighteen shapes on an H200 (bench/schedules).
// Its functions are declared in schedule.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "schedule/limits.h"
#include "schedule/schedule.h"
#include "support/division.h"

namespace fact::schedule {

namespace {

constexpr double kClock = 1676;         // cycles per microsecond, with all multiprocessors busy
constexpr double kIdleBoost = 0.255;    // by which fraction the clock is faster if all are idle
constexpr double kStart = 5.3;          // microseconds before the first product and after the last
constexpr double kEpilogue = 9.1;       // cycles of the epilogue per 128 values
constexpr double kEpilogueOperand = 3;  // and per matrix that the epilogue reads
constexpr double kScattering = 28;      // and for a scattered result: instructions, counted
constexpr double kOverlapLoss = 0.034;  // the share of the smaller demands added to the largest
constexpr double kFewerStages = 1.015;  // factor on the time with fewer stages than fit
constexpr double kL2Rate = 20.7e6, kMemoryRate = 3.48e6;  // bytes per microsecond
constexpr double kL2Bytes = 30.3e6;                       // of operands that stay in L2
constexpr double kMeeting = 4.6;  // microseconds until the parts of a tile are combined
constexpr double kSpans = 6.0;    // microseconds added for stream-K, divided by the cluster's size
constexpr double kPartBytes = 43.0;  // bytes of partial sums added per cycle
constexpr double kTwoAtOnce = 1.7;   // how much faster if two parts are read at a time

// The share of the tensor cores' rate that a tile sustains, less the cost of sharing in a cluster.
double efficiency(const Schedule& s) {
    const bool pingpong = info(s.mainloop).tile_per_group;
    const double tile = s.tile.m == 64    ? (s.tile.n == 256 ? 0.782 : 0.761)
                        : s.tile.m == 256 ? 0.874
                        : s.tile.n == 64  ? 0.707
                        : s.tile.n == 128 ? (pingpong ? 0.868 : 0.799)
                        : s.tile.n == 192 ? 0.877
                                          : 0.902;
    const double cluster = s.cluster.m == 2   ? (s.cluster.n == 2 ? 1.105 : 1.014)
                           : s.cluster.n == 2 ? 1.106
                                              : 1.009;
    return tile / cluster;
}

// How a schedule divides a problem; a row, column or tile is that of a whole cluster.
struct Division {
    double rows, columns, tiles, clusters, depth;
    Division(const Schedule& s, const Problem& p)
        : rows(ceil_div(p.m, s.tile.m * s.cluster.m)),
          columns(ceil_div(p.n, columns_of(s, p) * s.cluster.n)),
          tiles(rows * columns * p.batch),
          clusters(kMultiprocessorsSm90 / (s.cluster.m * s.cluster.n)),
          depth(ceil_div(p.k, s.tile.k) * s.tile.k) {}
};

// Bytes per operand element as the multiprocessors load it: a pass before has rounded B.
double bytes_of_a(const Problem& p) {
    return info(p.operands).bytes;
}
double bytes_of_b(const Problem& p) {
    return rounded(p) ? info(DType::f16).bytes : info(p.operands).bytes;
}

// The share of an operand's elements that memory holds.
double stored(const Problem& p, WindowedOperand operand) {
    return p.windows == operand ? p.stored : 1;
}

// Cycles of one tile's products. f32 operands rounded to f16 are many bytes for little arithmetic,
// so loads may limit the speed, at the rate measured for 16-bit tiles of 128x128. The model
// is not fitted to that kernel itself.
double mainloop_cycles(const Schedule& s, const Problem& p, double depth) {
    const double m = s.tile.m, n = s.tile.n;
    constexpr double kProductRate = 2048;  // multiply-adds per cycle of a multiprocessor
    const double rate = kProductRate / (p.split ? 3 : p.tf32 ? 2 : 1);
    const double products = m * n * depth / rate / efficiency(s);
    if (!rounded(p)) return products;
    constexpr double kLoadRate = 56;  // bytes per cycle
    return std::max(products, (m * bytes_of_a(p) + n * bytes_of_b(p)) * depth / kLoadRate);
}

double tensor_us(const Schedule& s, const Problem& p, const Division& d) {
    const double area = static_cast<double>(s.tile.m) * s.tile.n;
    const double mainloop = mainloop_cycles(s, p, d.depth);
    const double epilogue =
        area / p.products / 128 *
        (kEpilogue + kEpilogueOperand * p.full_operands + (p.scattered ? kScattering : 0));
    if (splits_depth(s.scheduler) && d.tiles < d.clusters) {
        const bool split = s.scheduler == Scheduler::splitk;
        const double available = split ? std::floor(d.clusters / d.tiles) : d.clusters / d.tiles;
        const double parts = std::clamp(available, 1.0, d.depth / s.tile.k);
        const double part_us = (mainloop / parts + epilogue) / kClock;
        if (parts <= 1) return part_us;
        // Many parts are first added up in teams: then none adds up all of them.
        const double parts_added = split && parts > 6 ? 2 * std::sqrt(parts) : parts;
        // kSumsAtOnce in mainloop_half.cuh.
        const bool two_at_once = !converted(p) && accumulators_on_sm90(s, p) == 64;
        const double rate_of_adding = kPartBytes * (two_at_once ? kTwoAtOnce : 1);
        const double meeting = split ? kMeeting : kMeeting + kSpans / (s.cluster.m * s.cluster.n);
        return part_us + meeting + parts_added * area * 4 / rate_of_adding / kClock;
    }
    if (s.scheduler == Scheduler::streamk) {  // all end at the same time, after adding one part
        const double meeting = kMeeting + area * 4 / kPartBytes / kClock;
        return (d.tiles / d.clusters * mainloop + std::ceil(d.tiles / d.clusters) * epilogue) /
                   kClock +
               meeting;
    }
    const double waves = std::ceil(d.tiles / d.clusters);
    const double busy = std::min(1.0, d.tiles / d.clusters);
    const double cycles = !info(s.mainloop).tile_per_group ? waves * (mainloop + epilogue)
                          : waves == 1
                              ? mainloop + epilogue
                              : waves * std::max(mainloop, (mainloop + epilogue) / 2) + epilogue;
    return cycles / (kClock * (1 + kIdleBoost * (1 - busy)));
}

double l2_us(const Schedule& s, const Problem& p, const Division& d) {
    const double rows = static_cast<double>(s.tile.m) / s.cluster.n;
    const double columns = static_cast<double>(s.tile.n) / s.cluster.m;
    const double tiles = d.tiles * s.cluster.m * s.cluster.n;
    return (rows * bytes_of_a(p) + columns * bytes_of_b(p)) * d.depth * tiles / kL2Rate;
}

// Memory traffic: an operand is read again if L2 has evicted it before its next use. Tiles are
// walked in bands: `band` tiles along the raster's dimension, all tiles across it.
double memory_us(const Schedule& s, const Problem& p, const Division& d) {
    const double batch = static_cast<double>(p.batch);
    const double depth_of_a = d.depth * bytes_of_a(p) * stored(p, WindowedOperand::a);
    const double depth_of_b = d.depth * bytes_of_b(p) * stored(p, WindowedOperand::b);
    const double a = p.m * depth_of_a * batch, b = p.products * p.n * depth_of_b * batch;
    const double output = static_cast<double>(p.m) * p.n * info(p.output).bytes * batch;
    const bool along_m = s.raster == Raster::m;
    const double along = along_m ? d.rows : d.columns, across = along_m ? d.columns : d.rows;
    const double band = std::min<double>(s.swizzle, along);
    const double rows_bytes = s.tile.m * s.cluster.m * depth_of_a;
    const double columns_bytes = s.tile.n * s.cluster.n * depth_of_b;
    const double unit_along = along_m ? rows_bytes : columns_bytes;
    const double unit_across = along_m ? columns_bytes : rows_bytes;
    // Tiles across the raster that are computed at the same time.
    const double in_flight = std::clamp(d.clusters / band, 1.0, std::max(1.0, across));
    const double total_along = along_m ? a : b, total_across = along_m ? b : a;
    const bool across_stays = total_across / batch + band * unit_along < kL2Bytes;
    const double bands_at_once = std::max(1.0, d.clusters / (band * across));
    const double reads_across = across_stays ? 1 : std::max(1.0, along / band / bands_at_once);
    const bool band_stays = band * unit_along + in_flight * unit_across < kL2Bytes;
    const double reads_along = band_stays ? 1 : std::max(1.0, across / in_flight);
    const double operands = total_along * reads_along + total_across * reads_across;
    return (operands + output * (1 + p.full_operands)) / kMemoryRate;
}

// Equal for schedules that compile to the same kernel, apart from stages. The order in which tiles
// are walked (raster, swizzle) is a parameter of the launch.
auto kernel_of(const Schedule& s) {
    return std::tuple(s.tile.m, s.tile.n, s.mainloop, s.cluster.m, s.cluster.n, s.scheduler);
}

}  // namespace

double expected_us_on_sm90(const Schedule& s, const Problem& p) {
    const Division d(s, p);
    const double demands[] = {tensor_us(s, p, d), l2_us(s, p, d), memory_us(s, p, d)};
    const double largest = *std::max_element(std::begin(demands), std::end(demands));
    double sum_of_others = -largest;
    for (const double us : demands) sum_of_others += us;
    return (largest + kOverlapLoss * sum_of_others) * (s.stages == 0 ? 1 : kFewerStages) + kStart;
}

std::vector<Schedule> candidates_on_sm90(const Problem& problem) {
    struct Ranked {
        double us;
        Schedule schedule;
    };
    std::vector<Ranked> ranked;
    for (const Schedule& s : space_on_sm90(problem))
        ranked.push_back({expected_us_on_sm90(s, problem), s});
    const auto quicker = [](const Ranked& a, const Ranked& b) { return a.us < b.us; };
    std::stable_sort(ranked.begin(), ranked.end(), quicker);
    // Walks of one kernel differ little, and the model is least sure of them. Each further one is
    // ranked lower, so that the first few candidates are different kernels.
    std::map<decltype(kernel_of(Schedule{})), int> num_walks;
    for (Ranked& r : ranked) r.us *= 1 + 0.02 * std::min(num_walks[kernel_of(r.schedule)]++, 5);
    std::stable_sort(ranked.begin(), ranked.end(), quicker);
    std::vector<Schedule> schedules;
    for (const Ranked& r : ranked) schedules.push_back(r.schedule);
    return schedules;
}

}  // namespace fact::schedule

// How long a product takes under a schedule: a model of waves, tensor cores, caches and memory,
// with constants fitted to every legal schedule of eighteen shapes on an H200 (bench/schedules).
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "schedule/limits.h"
#include "schedule/schedule.h"
#include "support/division.h"

namespace fact::schedule {

namespace {

constexpr double kClock = 1676;       // cycles a microsecond, with all of them multiplying
constexpr double kIdleBoost = 0.255;  // how much faster it is with none
constexpr double kStart = 5.3;   // microseconds from launch to the first product, and to the end
constexpr double kFinish = 9.1;  // cycles of the epilogue for 128 values
constexpr double kFinishOperand = 3;    // and for each matrix it reads beside them
constexpr double kOverlapLoss = 0.034;  // what the lesser demands add to the greatest
constexpr double kFewerStages = 1.015;
constexpr double kL2Rate = 20.7e6, kMemoryRate = 3.48e6, kL2Bytes = 30.3e6;  // bytes, a microsecond
constexpr double kMeeting = 4.6;     // microseconds until the parts of a tile have met
constexpr double kSpans = 6.0;       // and those of stream-K, more of them where clusters are small
constexpr double kPartBytes = 43.0;  // of another part, added in a cycle
constexpr double kTwoAtOnce = 1.7;   // how much faster where two parts are read at a time

// How much of the tensor cores' rate a tile sustains, and what sharing in a cluster costs of it.
double efficiency(const Schedule& s) {
    const bool pingpong = info(s.mainloop).own_tiles;
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

// A problem as a schedule divides it; tiles are those of whole clusters.
struct Division {
    double rows, columns, tiles, clusters, depth;
    Division(const Schedule& s, const Problem& p)
        : rows(ceil_div(p.m, s.tile.m * s.cluster.m)),
          columns(ceil_div(p.n, columns_of(s, p) * s.cluster.n)),
          tiles(rows * columns * p.batch),
          clusters(kMultiprocessorsSm90 / (s.cluster.m * s.cluster.n)),
          depth(ceil_div(p.k, s.tile.k) * s.tile.k) {}
};

// Bytes of an element of the operands as they come to the multiprocessors: B prepared.
double bytes_of_a(const Problem& p) {
    return info(p.operands).bytes;
}
double bytes_of_b(const Problem& p) {
    return rounded(p) ? info(DType::f16).bytes : info(p.operands).bytes;
}

// Cycles of one tile's products. f32 numbers that become one f16 number each are many bytes for
// little arithmetic: then what comes into a multiprocessor sets the pace, at the rate that 16-bit
// tiles of 128x128 were seen to take. That kernel itself is not fitted.
double mainloop_cycles(const Schedule& s, const Problem& p, double depth) {
    const double m = s.tile.m, n = s.tile.n;
    const double products = m * n * depth / (p.split ? 2048.0 / 3 : 2048.0) / efficiency(s);
    if (!rounded(p)) return products;
    constexpr double kComing = 56;  // bytes a cycle
    return std::max(products, (m * bytes_of_a(p) + n * bytes_of_b(p)) * depth / kComing);
}

double tensor_us(const Schedule& s, const Problem& p, const Division& d) {
    const double area = static_cast<double>(s.tile.m) * s.tile.n;
    const double mainloop = mainloop_cycles(s, p, d.depth);
    const double finish = area / p.products / 128 * (kFinish + kFinishOperand * p.full_operands);
    if (divides_depth(s.scheduler) && d.tiles < d.clusters) {
        const bool split = s.scheduler == Scheduler::splitk;
        const double wished = split ? std::floor(d.clusters / d.tiles) : d.clusters / d.tiles;
        const double parts = std::clamp(wished, 1.0, d.depth / s.tile.k);
        const double one = (mainloop / parts + finish) / kClock;
        if (parts <= 1) return one;
        // Split parts meet in teams.
        const double added = split && parts > 6 ? 2 * std::sqrt(parts) : parts;
        // kSumsAtOnce in mainloop_half.cuh.
        const bool two_at_once = p.operands != DType::f32 && accumulators_on_sm90(s, p) == 64;
        const double rate_of_adding = kPartBytes * (two_at_once ? kTwoAtOnce : 1);
        const double meeting = split ? kMeeting : kMeeting + kSpans / (s.cluster.m * s.cluster.n);
        return one + meeting + added * area * 4 / rate_of_adding / kClock;
    }
    if (s.scheduler == Scheduler::streamk) {  // the last tiles end together, each met by one part
        const double meeting = kMeeting + area * 4 / kPartBytes / kClock;
        return (d.tiles / d.clusters * mainloop + std::ceil(d.tiles / d.clusters) * finish) /
                   kClock +
               meeting;
    }
    const double waves = std::ceil(d.tiles / d.clusters);
    const double busy = std::min(1.0, d.tiles / d.clusters);
    const double cycles = !info(s.mainloop).own_tiles ? waves * (mainloop + finish)
                          : waves == 1
                              ? mainloop + finish
                              : waves * std::max(mainloop, (mainloop + finish) / 2) + finish;
    return cycles / (kClock * (1 + kIdleBoost * (1 - busy)));
}

double l2_us(const Schedule& s, const Problem& p, const Division& d) {
    const double rows = static_cast<double>(s.tile.m) / s.cluster.n;
    const double columns = static_cast<double>(s.tile.n) / s.cluster.m;
    const double tiles = d.tiles * s.cluster.m * s.cluster.n;
    return (rows * bytes_of_a(p) + columns * bytes_of_b(p)) * d.depth * tiles / kL2Rate;
}

// What comes from memory: an operand more than once where L2 does not hold it until it is wanted
// again.
double memory_us(const Schedule& s, const Problem& p, const Division& d) {
    const double batch = static_cast<double>(p.batch);
    const double a = p.m * d.depth * bytes_of_a(p) * batch;
    const double b = p.products * p.n * d.depth * bytes_of_b(p) * batch;
    const double output = static_cast<double>(p.m) * p.n * info(p.output).bytes * batch;
    const bool along_m = s.raster == Raster::m;
    const double along = along_m ? d.rows : d.columns, across = along_m ? d.columns : d.rows;
    const double band = std::min<double>(s.swizzle, along);
    const double rows_bytes = s.tile.m * s.cluster.m * d.depth * bytes_of_a(p);
    const double columns_bytes = s.tile.n * s.cluster.n * d.depth * bytes_of_b(p);
    const double unit_along = along_m ? rows_bytes : columns_bytes;
    const double unit_across = along_m ? columns_bytes : rows_bytes;
    const double in_flight = std::clamp(d.clusters / band, 1.0, std::max(1.0, across));
    const double total_along = along_m ? a : b, total_across = along_m ? b : a;
    const bool stays = total_across / batch + band * unit_along < kL2Bytes;
    const double bands_at_once = std::max(1.0, d.clusters / (band * across));
    const double again_across = stays ? 1 : std::max(1.0, along / band / bands_at_once);
    const bool band_stays = band * unit_along + in_flight * unit_across < kL2Bytes;
    const double again_along = band_stays ? 1 : std::max(1.0, across / in_flight);
    const double operands = total_along * again_along + total_across * again_across;
    return (operands + output * (1 + p.full_operands)) / kMemoryRate;
}

// What compiles to the same kernel up to its stages: a walk is only a parameter of the launch.
auto kernel_of(const Schedule& s) {
    return std::tuple(s.tile.m, s.tile.n, s.mainloop, s.cluster.m, s.cluster.n, s.scheduler);
}

}  // namespace

double expected_us_on_sm90(const Schedule& s, const Problem& p) {
    const Division d(s, p);
    const double demands[] = {tensor_us(s, p, d), l2_us(s, p, d), memory_us(s, p, d)};
    const double most = *std::max_element(std::begin(demands), std::end(demands));
    double rest = -most;
    for (const double us : demands) rest += us;
    return (most + kOverlapLoss * rest) * (s.stages == 0 ? 1 : kFewerStages) + kStart;
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
    // Walks of one kernel differ by little, and the model is least sure of them: each further one
    // stands back, so that the first few are different kernels.
    std::map<decltype(kernel_of(Schedule{})), int> seen;
    for (Ranked& r : ranked) r.us *= 1 + 0.02 * std::min(seen[kernel_of(r.schedule)]++, 5);
    std::stable_sort(ranked.begin(), ranked.end(), quicker);
    std::vector<Schedule> schedules;
    for (const Ranked& r : ranked) schedules.push_back(r.schedule);
    return schedules;
}

}  // namespace fact::schedule

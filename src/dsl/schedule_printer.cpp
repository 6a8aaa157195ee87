#include <fmt/format.h>

#include <algorithm>

#include "dsl/dsl.h"

namespace fact::dsl {
namespace {

using schedule::Schedule;

// The distinct values of a field, in order of appearance.
template <class Get>
auto distinct(const std::vector<Schedule>& choices, Get get) {
    std::vector<decltype(get(choices[0]))> values;
    for (const Schedule& choice : choices)
        if (std::find(values.begin(), values.end(), get(choice)) == values.end())
            values.push_back(get(choice));
    return values;
}

template <class Value, class Print>
std::string alternatives(const std::vector<Value>& values, Print print) {
    std::string out;
    for (const Value& value : values) out += (out.empty() ? "" : ", ") + print(value);
    return values.size() == 1 ? out : fmt::format("{{{}}}", out);
}

std::string block_text(const ScheduleBlock& block, const std::vector<Schedule>& choices,
                       std::vector<Schedule>& spanned) {
    const auto tiles = distinct(choices, [](const Schedule& s) { return s.tile; });
    const auto clusters = distinct(choices, [](const Schedule& s) { return s.cluster; });
    const auto mainloops = distinct(choices, [](const Schedule& s) { return s.mainloop; });
    const auto stages = distinct(choices, [](const Schedule& s) { return s.stages; });
    const auto rasters = distinct(choices, [](const Schedule& s) { return s.raster; });
    const auto swizzles = distinct(choices, [](const Schedule& s) { return s.swizzle; });
    const auto schedulers = distinct(choices, [](const Schedule& s) { return s.scheduler; });
    for (const auto& tile : tiles)
        for (const auto& cluster : clusters)
            for (const auto mainloop : mainloops)
                for (const int stage : stages)
                    for (const auto scheduler : schedulers)
                        for (const auto raster : rasters)
                            for (const int swizzle : swizzles)
                                spanned.push_back(
                                    {tile, cluster, mainloop, stage, raster, swizzle, scheduler});

    std::string out =
        fmt::format("schedule {}{} on {} {{\n  ", block.kernel,
                    block.product.empty() ? "" : fmt::format(".{}", block.product), block.arch);
    if (tiles[0].m > 0)
        out += fmt::format("tile {}  ", alternatives(tiles, [](const schedule::Tile& t) {
                               return fmt::format("{}x{}x{}", t.m, t.n, t.k);
                           }));
    out += fmt::format("cluster {}  ", alternatives(clusters, [](const schedule::Cluster& c) {
                           return fmt::format("{}x{}", c.m, c.n);
                       }));
    out += fmt::format(
        "mainloop {}  ", alternatives(mainloops, [](schedule::Mainloop m) {
            return std::string(m == schedule::Mainloop::pingpong ? "pingpong" : "cooperative");
        }));
    out += fmt::format("stages {}\n", alternatives(stages, [](int n) {
                           return n == 0 ? std::string("auto") : std::to_string(n);
                       }));
    const std::string arguments = fmt::format(
        "(raster: {}, swizzle: {})",
        alternatives(
            rasters,
            [](schedule::Raster r) { return std::string(r == schedule::Raster::m ? "m" : "n"); }),
        alternatives(swizzles, [](int n) { return std::to_string(n); }));
    out += fmt::format("  scheduler {}\n}}\n", alternatives(schedulers, [&](schedule::Scheduler s) {
                           return std::string(schedule::name(s)) + arguments;
                       }));
    return out;
}

}  // namespace

std::string to_text(const ScheduleBlock& block) {
    std::vector<Schedule> spanned;
    if (block.choices.empty()) return "";
    const std::string whole = block_text(block, block.choices, spanned);
    if (spanned == block.choices) return whole;
    // Choices that are no cross product are correlated: a block each says so.
    std::string out;
    for (const Schedule& choice : block.choices) {
        spanned.clear();
        out += block_text(block, {choice}, spanned);
    }
    return out;
}

}  // namespace fact::dsl

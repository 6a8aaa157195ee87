#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dsl/dsl.h"

namespace fact::dsl {
namespace {

using schedule::Given;

// The distinct values of an entry, in order of appearance.
template <class Value>
std::vector<Value> distinct(const std::vector<Given>& choices, Value Given::* entry) {
    std::vector<Value> values;
    for (const Given& choice : choices)
        if (std::find(values.begin(), values.end(), choice.*entry) == values.end())
            values.push_back(choice.*entry);
    return values;
}

// An entry with its alternatives; "" where it is left out.
template <class Value, class Print>
std::string entry(std::string_view name, const std::vector<std::optional<Value>>& values,
                  Print print) {
    std::vector<std::string> texts;
    for (const auto& value : values)
        if (value) texts.push_back(print(*value));
    if (texts.empty()) return "";
    const std::string all = fmt::format("{}", fmt::join(texts, ", "));
    return fmt::format("{}{}", name, texts.size() == 1 ? all : fmt::format("{{{}}}", all));
}

// The block that has these entries, and what it would be read as: the choices, unless they depend
// on each other.
std::string block_text(const ScheduleBlock& block, const std::vector<Given>& choices,
                       std::vector<Given>& spanned) {
    const auto tiles = distinct(choices, &Given::tile);
    const auto clusters = distinct(choices, &Given::cluster);
    const auto mainloops = distinct(choices, &Given::mainloop);
    const auto stages = distinct(choices, &Given::stages);
    const auto rasters = distinct(choices, &Given::raster);
    const auto swizzles = distinct(choices, &Given::swizzle);
    const auto schedulers = distinct(choices, &Given::scheduler);
    for (const auto& tile : tiles)
        for (const auto& cluster : clusters)
            for (const auto& mainloop : mainloops)
                for (const auto& stage : stages)
                    for (const auto& scheduler : schedulers)
                        for (const auto& raster : rasters)
                            for (const auto& swizzle : swizzles)
                                spanned.push_back(
                                    {tile, cluster, mainloop, stage, raster, swizzle, scheduler});

    const auto word = [](auto value) { return std::string(schedule::info(value).name); };
    const auto number = [](int n) { return n == 0 ? std::string("auto") : std::to_string(n); };
    std::vector<std::string> entries{
        entry("tile ", tiles,
              [](const schedule::Tile& t) { return fmt::format("{}x{}x{}", t.m, t.n, t.k); }),
        entry("cluster ", clusters,
              [](const schedule::Cluster& c) { return fmt::format("{}x{}", c.m, c.n); }),
        entry("mainloop ", mainloops, word), entry("stages ", stages, number)};
    std::vector<std::string> arguments{entry("raster: ", rasters, word),
                                       entry("swizzle: ", swizzles, number)};
    std::erase(entries, "");
    std::erase(arguments, "");
    const std::string walk =
        arguments.empty() ? "" : fmt::format("({})", fmt::join(arguments, ", "));
    const std::string scheduler =
        entry("scheduler ", schedulers, [&](schedule::Scheduler s) { return word(s) + walk; });

    std::string out =
        fmt::format("schedule {}{} on {} {{\n", block.kernel,
                    block.product.empty() ? "" : fmt::format(".{}", block.product), block.arch);
    if (!entries.empty()) out += fmt::format("  {}\n", fmt::join(entries, "  "));
    if (!scheduler.empty()) out += fmt::format("  {}\n", scheduler);
    return out + "}\n";
}

}  // namespace

std::string to_text(const ScheduleBlock& block) {
    std::vector<Given> spanned;
    if (block.choices.empty()) return "";
    const std::string whole = block_text(block, block.choices, spanned);
    // An alternative without a value is one of its own.
    const auto same = [](const Given& a, const Given& b) {
        return schedule::open_entries(a) == schedule::open_entries(b);
    };
    const bool alike =
        std::all_of(block.choices.begin(), block.choices.end(),
                    [&](const Given& choice) { return same(choice, block.choices.front()); });
    if (alike && spanned == block.choices) return whole;
    // Choices that are no cross product are correlated: a block each says so.
    std::string out;
    for (const Given& choice : block.choices) {
        spanned.clear();
        out += block_text(block, {choice}, spanned);
    }
    return out;
}

}  // namespace fact::dsl

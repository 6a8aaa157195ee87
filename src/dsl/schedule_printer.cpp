// to_text(const ScheduleBlock&), which dsl/dsl.h declares.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dsl/dsl.h"

namespace fact::dsl {
namespace {

using schedule::PartialSchedule;

// The distinct values of an entry, in order of appearance.
template <class Value>
std::vector<Value> distinct(const std::vector<PartialSchedule>& choices,
                            Value PartialSchedule::* entry) {
    std::vector<Value> values;
    for (const PartialSchedule& choice : choices)
        if (std::find(values.begin(), values.end(), choice.*entry) == values.end())
            values.push_back(choice.*entry);
    return values;
}

// An entry with its alternatives; "" if it has no value.
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

// The text of one block with these entries. `spanned` gets the combinations that it would be read
// as, which are the choices only if they are a cross product.
std::string block_text(const ScheduleBlock& block, const std::vector<PartialSchedule>& choices,
                       std::vector<PartialSchedule>& spanned) {
    const auto tiles = distinct(choices, &PartialSchedule::tile);
    const auto clusters = distinct(choices, &PartialSchedule::cluster);
    const auto mainloops = distinct(choices, &PartialSchedule::mainloop);
    const auto stages = distinct(choices, &PartialSchedule::stages);
    const auto rasters = distinct(choices, &PartialSchedule::raster);
    const auto swizzles = distinct(choices, &PartialSchedule::swizzle);
    const auto schedulers = distinct(choices, &PartialSchedule::scheduler);
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
    const std::string arg_text =
        arguments.empty() ? "" : fmt::format("({})", fmt::join(arguments, ", "));
    const std::string scheduler =
        entry("scheduler ", schedulers, [&](schedule::Scheduler s) { return word(s) + arg_text; });

    std::string out =
        fmt::format("schedule {}{} on {} {{\n", block.kernel,
                    block.product.empty() ? "" : fmt::format(".{}", block.product), block.arch);
    if (!entries.empty()) out += fmt::format("  {}\n", fmt::join(entries, "  "));
    if (!scheduler.empty()) out += fmt::format("  {}\n", scheduler);
    return out + "}\n";
}

}  // namespace

std::string to_text(const ScheduleBlock& block) {
    std::vector<PartialSchedule> spanned;
    if (block.choices.empty()) return "";
    const std::string one_block = block_text(block, block.choices, spanned);
    // Choices that set different entries cannot share a block.
    const auto set_same_entries = [](const PartialSchedule& a, const PartialSchedule& b) {
        return schedule::open_entries(a) == schedule::open_entries(b);
    };
    const bool alike =
        std::all_of(block.choices.begin(), block.choices.end(), [&](const PartialSchedule& choice) {
            return set_same_entries(choice, block.choices.front());
        });
    if (alike && spanned == block.choices) return one_block;
    // Choices that are not a cross product get one block each.
    std::string out;
    for (const PartialSchedule& choice : block.choices) {
        spanned.clear();
        out += block_text(block, {choice}, spanned);
    }
    return out;
}

}  // namespace fact::dsl

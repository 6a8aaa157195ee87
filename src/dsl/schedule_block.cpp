#include "dsl/schedule_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <ranges>

#include "target/arch.h"

namespace fact::dsl {
namespace {

using schedule::PartialSchedule;
using Setter = std::function<void(PartialSchedule&)>;  // sets one alternative of an entry

// "128x256x64" with exactly `count` positive numbers.
std::optional<std::array<int, 3>> shape(std::string_view text, int count) {
    std::array<int, 3> out{};
    for (int i = 0; i < count; ++i) {
        const auto [stop, failure] =
            std::from_chars(text.data(), text.data() + text.size(), out[i]);
        if (failure != std::errc() || out[i] < 1) return std::nullopt;
        text.remove_prefix(stop - text.data());
        const bool last = i + 1 == count;
        if (last != text.empty() || (!last && text[0] != 'x')) return std::nullopt;
        if (!last) text.remove_prefix(1);
    }
    return out;
}

class ScheduleChecker {
  public:
    ScheduleChecker(const ast::Schedule& source, Reporter& reporter)
        : source_(source), reporter_(reporter) {}

    std::vector<PartialSchedule> choices() {
        std::vector<PartialSchedule> out{PartialSchedule{}};
        std::set<std::string_view> seen;
        for (const ast::ScheduleEntry& entry : source_.entries) {
            if (!seen.insert(entry.name.text).second) {
                reporter_.error(code::repeated_entry, entry.name.span,
                                fmt::format("'{}' is given twice.", entry.name.text),
                                "List alternatives in braces: `tile {128x128x64, 128x256x64}`.");
                continue;
            }
            const auto alternatives = this->alternatives(entry);
            if (alternatives.empty()) continue;
            if (out.size() * alternatives.size() > kMaxChoices) {
                reporter_.error(
                    code::too_many_choices, entry.name.span,
                    fmt::format("The alternatives make more than {} schedules.", kMaxChoices),
                    "List fewer alternatives, or split them over several blocks.");
                return out;
            }
            std::vector<PartialSchedule> combined;
            for (const PartialSchedule& choice : out)
                for (const Setter& set : alternatives) set(combined.emplace_back(choice));
            out = std::move(combined);
        }
        return out;
    }

  private:
    std::vector<Setter> alternatives(const ast::ScheduleEntry& entry) {
        std::vector<Setter> sets;
        const std::string_view name = entry.name.text;
        for (const ast::ScheduleValue& value : entry.values) {
            if (name == "scheduler") {
                scheduler(value, sets);
                continue;
            }
            std::string_view form;
            if (!value.arguments.empty()) {
                bad_value(value.arguments[0].name, entry.name, "it without arguments");
                continue;
            }
            if (auto set = setter_of(name, value.word.text, form))
                sets.push_back(std::move(set));
            else if (!form.empty())
                bad_value(value.word, entry.name, form);
            else
                return unknown(entry);
        }
        return sets;
    }

    // The setter for a valid value; nullptr for another value. `form` becomes the form that a value
    // must have, or stays empty if there is no entry `name`.
    static Setter setter_of(std::string_view name, std::string_view text, std::string_view& form) {
        if (name == "tile") {
            form = "three numbers such as 128x256x64";
            const auto t = shape(text, 3);
            if (t)
                return [t = *t](PartialSchedule& s) { s.tile = schedule::Tile{t[0], t[1], t[2]}; };
        } else if (name == "cluster") {
            form = "two numbers such as 2x1";
            const auto c = shape(text, 2);
            if (c)
                return [c = *c](PartialSchedule& s) { s.cluster = schedule::Cluster{c[0], c[1]}; };
        } else if (name == "mainloop") {
            form = "`cooperative` or `pingpong`";
            for (const schedule::MainloopInfo& row : schedule::kMainloops)
                if (text == row.name)
                    return [mainloop = row.mainloop](PartialSchedule& s) { s.mainloop = mainloop; };
        } else if (name == "epilogue") {
            form = "`auto`";
            if (text == "auto") return [](PartialSchedule&) {};
        } else if (name == "stages") {
            form = "`auto` or a number";
            if (text == "auto") return [](PartialSchedule& s) { s.stages = 0; };
            const auto n = shape(text, 1);
            if (n) return [n = (*n)[0]](PartialSchedule& s) { s.stages = n; };
        }
        return nullptr;
    }

    // `persistent(raster: m, swizzle: {1, 2})`, or another scheduler with the same arguments, which
    // may list alternatives.
    void scheduler(const ast::ScheduleValue& value, std::vector<Setter>& sets) {
        const ast::Word entry{"scheduler", value.word.span};
        const auto kind = std::ranges::find(schedule::kSchedulers, value.word.text,
                                            &schedule::SchedulerInfo::name);
        if (kind == schedule::kSchedulers.end())
            return bad_value(
                value.word, entry,
                "`persistent(raster: m, swizzle: 2)`, or `streamk` or `splitk` with the same "
                "arguments");
        std::vector<std::optional<schedule::Raster>> rasters;
        std::vector<std::optional<int>> swizzles;
        for (const ast::ScheduleArgument& argument : value.arguments) {
            const bool is_raster = argument.name.text == "raster";
            if (!is_raster && argument.name.text != "swizzle") {
                reporter_.error(
                    code::unknown_entry, argument.name.span,
                    fmt::format("`{}` has no argument '{}'.", value.word.text, argument.name.text),
                    "Use `raster` or `swizzle`.");
                continue;
            }
            if (is_raster ? !rasters.empty() : !swizzles.empty()) {
                reporter_.error(code::repeated_entry, argument.name.span,
                                fmt::format("'{}' is given twice.", argument.name.text),
                                "List alternatives in braces: `swizzle: {1, 2}`.");
                continue;
            }
            for (const ast::Word& word : argument.values) {
                const auto n = shape(word.text, 1);
                const auto raster =
                    std::ranges::find(schedule::kRasters, word.text, &schedule::RasterInfo::name);
                if (is_raster && raster != schedule::kRasters.end())
                    rasters.push_back(raster->raster);
                else if (!is_raster && n)
                    swizzles.push_back((*n)[0]);
                else
                    bad_value(word, argument.name, is_raster ? "`m` or `n`" : "a positive number");
            }
        }
        if (rasters.empty()) rasters.emplace_back();
        if (swizzles.empty()) swizzles.emplace_back();
        for (const auto raster : rasters)
            for (const auto swizzle : swizzles)
                sets.push_back([raster, swizzle, kind = kind->scheduler](PartialSchedule& s) {
                    s.scheduler = kind;
                    s.raster = raster;
                    s.swizzle = swizzle;
                });
    }

    void bad_value(const ast::Word& word, const ast::Word& entry, std::string_view form) {
        reporter_.error(
            code::entry_value, word.span,
            fmt::format("'{}' is not a value of '{}'.", word.text.substr(0, 40), entry.text),
            fmt::format("Write {}.", form));
    }

    std::vector<Setter> unknown(const ast::ScheduleEntry& entry) {
        const std::vector<std::string> names(std::begin(kEntries), std::end(kEntries));
        const std::string near = nearest(entry.name.text, names);
        reporter_.error(code::unknown_entry, entry.name.span,
                        fmt::format("A schedule has no entry '{}'.", entry.name.text),
                        near.empty() ? fmt::format("Use {}.", fmt::join(names, ", "))
                                     : fmt::format("Did you mean '{}'?", near));
        return {};
    }

    const ast::Schedule& source_;
    Reporter& reporter_;
};

// The name of the product that the block is for; nullopt after an error.
std::optional<std::string> find_product(const ast::Schedule& source, const ir::Kernel& kernel,
                                        Reporter& reporter) {
    std::vector<std::string> products, attentions;
    for (const ir::Expr& expr : kernel.exprs) {
        if (std::holds_alternative<ir::Product>(expr.node)) products.push_back(expr.name);
        if (std::holds_alternative<ir::Attention>(expr.node)) attentions.push_back(expr.name);
    }
    const auto refuse_attention = [&](Span at, const std::string& name) {
        reporter.error(
            code::attention_schedule, at,
            fmt::format("'{}' is an attention, which takes no schedule.", name),
            "Remove the block: FACT chooses an attention's tiles by the extents of its features.");
        return std::nullopt;
    };
    if (source.product) {
        const std::string name(source.product->text);
        if (std::count(products.begin(), products.end(), name)) return name;
        if (std::count(attentions.begin(), attentions.end(), name))
            return refuse_attention(source.product->span, name);
        const std::string near = nearest(name, products);
        reporter.error(code::unknown_product, source.product->span,
                       fmt::format("'{}' has no product '{}'.", kernel.name, name),
                       near.empty() ? "Name a value that is a product, such as `acc = x @ w`."
                                    : fmt::format("Did you mean '{}'?", near));
        return std::nullopt;
    }
    if (products.size() == 1) return products[0];
    if (products.empty() && !attentions.empty())
        return refuse_attention(source.kernel.span, kernel.name);
    if (products.empty())
        reporter.error(code::unknown_product, source.kernel.span,
                       fmt::format("'{}' has no product to schedule.", kernel.name),
                       "Remove the block.");
    else
        reporter.error(code::product_needed, source.kernel.span,
                       fmt::format("'{}' has several products.", kernel.name),
                       products[0].empty()
                           ? fmt::format("Give one a name (`acc = ...`), and say which: "
                                         "`schedule {}.acc on {}`.",
                                         kernel.name, source.arch.text)
                           : fmt::format("Say which: `schedule {}.{} on {}`.", kernel.name,
                                         products[0], source.arch.text));
    return std::nullopt;
}

}  // namespace

void report_too_many_choices(Span at, Reporter& reporter) {
    reporter.error(code::too_many_choices, at,
                   fmt::format("The text makes more than {} schedules.", kMaxChoicesInAll),
                   "List fewer alternatives.");
}

std::optional<ScheduleBlock> check_schedule(const ast::Schedule& source,
                                            const std::set<std::string>& names,
                                            const Program& program, Reporter& reporter) {
    const int before = reporter.count();
    ScheduleBlock block{std::string(source.kernel.text), "", std::string(source.arch.text), {}, {}};
    block.span = source.span;
    if (!names.count(block.kernel)) {
        const std::string near = nearest(block.kernel, {names.begin(), names.end()});
        reporter.error(
            code::unknown_kernel, source.kernel.span,
            fmt::format("There is no kernel '{}' in this text.", block.kernel),
            near.empty() ? "Name a kernel of this text." : fmt::format("Did you mean '{}'?", near));
    }
    if (!find_arch(block.arch))
        reporter.error(
            code::unknown_arch, source.arch.span,
            fmt::format("There is no architecture '{}'.", block.arch),
            fmt::format("Use {}.", fmt::join(kArchs | std::views::transform(&Arch::name), " or ")));
    if (const ir::Kernel* kernel = program.find(block.kernel))
        block.product = find_product(source, *kernel, reporter).value_or("");
    block.choices = ScheduleChecker(source, reporter).choices();
    std::size_t choices = block.choices.size();
    for (const ScheduleBlock& other : program.schedules) choices += other.choices.size();
    if (choices > kMaxChoicesInAll) report_too_many_choices(source.kernel.span, reporter);
    if (reporter.count() != before) return std::nullopt;
    return block;
}

}  // namespace fact::dsl

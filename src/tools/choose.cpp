#include "tools/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "lower/pipeline/skeletons.h"

namespace fact::tools {
namespace {

// The rank of a schedule among the candidates, most promising first; stages do not count, since
// texts mostly leave them open.
std::size_t rank(const std::vector<schedule::Schedule>& ranked, schedule::Schedule wanted) {
    wanted.stages = 0;
    const auto same = [&](schedule::Schedule candidate) {
        candidate.stages = 0;
        return candidate == wanted;
    };
    return static_cast<std::size_t>(std::find_if(ranked.begin(), ranked.end(), same) -
                                    ranked.begin());
}

// The first legal schedule that agrees with what is given; if none is legal, the first that agrees,
// with the reason why it is not legal.
Option fill(const schedule::PartialSchedule& given, const PlannedProduct& product,
            const std::vector<schedule::Schedule>& ranked) {
    std::optional<Option> first_illegal;
    for (const schedule::Schedule& schedule : completions(given, ranked)) {
        Option option{given, schedule, illegal(product.skeleton, schedule, product.problem)};
        if (option.illegal.empty()) return option;
        if (!first_illegal) first_illegal = std::move(option);
    }
    return *first_illegal;
}

// Where a schedule comes from, for a note; `best` is null if the text gives none.
std::string reason(const Option* best, std::size_t num_given, const std::string& sizes) {
    if (!best) return fmt::format("chosen for {}", sizes);
    const std::string which = num_given == 1
                                  ? "the one that is given"
                                  : fmt::format("the most promising of the {} given", num_given);
    const auto open = schedule::open_entries(best->given);
    return open.empty() ? which
                        : fmt::format("{}; {} chosen for {}", which, fmt::join(open, ", "), sizes);
}

}  // namespace

Result<dsl::Program> with_schedule(const KernelSource& source, const ir::Kernel& kernel,
                                   std::string_view arch, std::string_view schedule) {
    const bool is_block = schedule.starts_with("schedule ");
    const std::string block =
        is_block ? fmt::format("{}\n", schedule)
                 : fmt::format("schedule {} on {} {{\n  {}\n}}\n", kernel.name, arch, schedule);
    const std::string before = source.text + "\n";
    Diagnostics found;
    auto program = dsl::compile(before + block, found);
    if (!program) {
        Diagnostics shifted;  // positions count from the beginning of the block
        const auto shift = static_cast<std::uint32_t>(before.size());
        for (const Diagnostic& item : found.items())
            shifted.error(
                item.code,
                {std::max(item.span.begin, shift) - shift, std::max(item.span.end, shift) - shift},
                item.message, item.fix);
        return mistakes(shifted, "--schedule", block);
    }
    auto& blocks = program->schedules;
    const auto is_new = [&](const dsl::ScheduleBlock& b) { return b.span.begin >= before.size(); };
    const auto given = std::find_if(blocks.begin(), blocks.end(), [&](const auto& b) {
        return is_new(b) && b.kernel == kernel.name;
    });
    if (given == blocks.end())
        return blame_input({fmt::format("--schedule is not for kernel {}", kernel.name),
                            fmt::format("write `schedule {} on {} {{ ... }}`, or only its entries",
                                        kernel.name, arch)});
    const std::string product = given->product;
    std::erase_if(blocks, [&](const dsl::ScheduleBlock& b) {
        return !is_new(b) && b.kernel == kernel.name && b.product == product;
    });
    return std::move(*program);
}

std::vector<Option> options_of(const dsl::Program& program, std::string_view kernel,
                               std::string_view arch, const PlannedProduct& product) {
    const auto ranked = candidates(product.skeleton, product.problem);
    std::vector<Option> options;
    for (const dsl::ScheduleBlock& block : program.schedules)
        if (block.kernel == kernel && block.arch == arch && block.product == product.name)
            for (const schedule::PartialSchedule& choice : block.choices)
                options.push_back(fill(choice, product, ranked));
    return options;
}

namespace {

// A product that shares another one's tile uses the other's schedule: one of its own would be
// silently ignored.
Result<> refuse_shared(const dsl::Program& program, const ir::Kernel& kernel, std::string_view arch,
                       const std::vector<PlannedStage>& stages) {
    const auto planned = [&](const std::string& name) {
        return std::ranges::any_of(stages, [&](const PlannedStage& stage) {
            return stage.product && stage.product->name == name;
        });
    };
    const auto is_product = [&](const std::string& name) {
        return std::ranges::any_of(kernel.exprs, [&](const ir::Expr& expr) {
            return expr.name == name && std::holds_alternative<ir::Product>(expr.node);
        });
    };
    for (const dsl::ScheduleBlock& block : program.schedules)
        if (block.kernel == kernel.name && block.arch == arch && is_product(block.product) &&
            !planned(block.product))
            return blame_input(
                {fmt::format("kernel {}: {} shares a tile with another product on {}, and "
                             "has no schedule of its own",
                             kernel.name, block.product, arch),
                 "give a schedule to the product before it instead: both use that one"});
    return Ok{};
}

}  // namespace

Result<Choice> choose_schedules(const dsl::Program& program, const ir::Kernel& kernel,
                                std::string_view arch, const Extents& extents, bool tma) {
    const auto plan = plan_stages(kernel, arch, extents, tma);
    if (!plan) return plan.error();
    if (const auto shared = refuse_shared(program, kernel, arch, plan->stages); !shared)
        return shared.error();
    Choice choice;
    choice.tma = tma;
    for (const PlannedStage& stage : plan->stages) {
        if (!stage.product) continue;
        const PlannedProduct& product = *stage.product;
        const auto ranked = candidates(product.skeleton, product.problem);
        const auto options = options_of(program, kernel.name, arch, product);
        const Option* best = nullptr;
        for (const Option& option : options)
            if (option.illegal.empty() &&
                (!best || rank(ranked, option.schedule) < rank(ranked, best->schedule)))
                best = &option;
        // If TMA cannot address the operands, a skeleton of an older GPU computes the product.
        const bool without_maps = !info(product.skeleton).tensor_maps &&
                                  info(lower::skeletons_of(arch, tma).front()).tensor_maps;
        if (!best && !options.empty())
            return blame_input(
                {fmt::format(
                     "kernel {}: no schedule of the text is legal on {}; \"{}\": {}{}", kernel.name,
                     arch, schedule::to_string(options.front().schedule), options.front().illegal,
                     without_maps ? "; an older GPU's skeleton computes this product, since no "
                                    "tensor map can address it (a tensor map needs rows of a "
                                    "multiple of 16 bytes)"
                                  : ""),
                 "`fact kernel explain` gives the reason for each; omit the schedule to have one "
                 "chosen"});
        if (!best && ranked.empty())
            return blame_input({fmt::format("kernel {}: no schedule fits {}", kernel.name,
                                            describe(kernel, extents)),
                                "try other extents with --set"});
        const schedule::Schedule chosen = best ? best->schedule : ranked.front();
        // Products without a name cannot be addressed: the lowering makes the same choice as here.
        if (best || !product.name.empty()) choice.schedules[product.name] = chosen;
        const std::string why = reason(best, options.size(), describe(kernel, extents));
        choice.notes.push_back(fmt::format("schedule of {}: {}\n  {}", title(product),
                                           schedule::to_string(chosen), why));
    }
    return choice;
}

}  // namespace fact::tools

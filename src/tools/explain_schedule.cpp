#include "tools/explain_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/typing.h"
#include "support/division.h"
#include "tools/build.h"
#include "tools/choose.h"
#include "tools/products.h"
#include "tools/workspace.h"

namespace fact::tools {
namespace {

constexpr std::size_t kMaxShown = 12;  // schedules of one product

std::string with_commas(long value) {
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

std::string details(const schedule::Schedule& s, const PlannedProduct& product,
                    const GpuSpec& gpu) {
    const schedule::Problem& problem = product.problem;
    const auto memory = shared_memory(product.skeleton, s, problem);
    const long rows = ceil_div(problem.m, s.tile.m),
               columns = ceil_div(problem.n, columns_of(s, problem));
    const long tiles = rows * columns * problem.batch;
    std::string text = fmt::format(
        "     {} stages{}, {} bytes of shared memory{}\n"
        "     {} accumulator registers a thread\n",
        memory.stages, s.stages == 0 ? " (as many as fit)" : "", with_commas(memory.bytes),
        memory.store_buffers > 0 ? fmt::format(", {} store buffers a warp", memory.store_buffers)
                                 : "",
        accumulators_per_thread(product.skeleton, s, problem));
    text += fmt::format("     {} x {}{} = {} tiles, {:.2f} waves on {} multiprocessors{}\n", rows,
                        columns, problem.batch > 1 ? fmt::format(" x {}", problem.batch) : "",
                        with_commas(tiles), static_cast<double>(tiles) / gpu.num_sms, gpu.num_sms,
                        splits_depth(s.scheduler) ? ", divided along K" : "");
    return text;
}

// What the text leaves for FACT to choose.
std::string left_open(const std::vector<Option>& options, std::size_t num_candidates) {
    std::vector<std::string> parts;
    std::vector<std::string> entries;
    for (const Option& option : options)
        for (const std::string& entry : schedule::open_entries(option.given))
            if (std::find(entries.begin(), entries.end(), entry) == entries.end())
                entries.push_back(entry);
    if (!entries.empty()) parts.push_back(fmt::format("{}", fmt::join(entries, ", ")));
    const auto legal = std::count_if(options.begin(), options.end(),
                                     [](const Option& o) { return o.illegal.empty(); });
    if (legal > 1)
        parts.push_back(fmt::format("which of the {} legal schedules, by timing", legal));
    if (options.empty())
        parts.push_back(fmt::format("everything: {} schedules are worth timing", num_candidates));
    if (parts.empty()) parts.push_back("nothing");
    return fmt::format("  to be chosen: {}\n", fmt::join(parts, "; "));
}

std::string guessed(const Option& option) {
    const auto open = schedule::open_entries(option.given);
    return open.empty() ? "" : fmt::format("; the best guess: {}", fmt::join(open, ", "));
}

std::string explain_product(const dsl::Program& program, const ir::Kernel& kernel,
                            const PlannedProduct& product, const GpuSpec& gpu) {
    std::string text = fmt::format("schedules of {} on {}, by the {} skeleton\n", title(product),
                                   gpu.arch, info(product.skeleton).name);
    const auto options = options_of(program, kernel.name, gpu.arch, product);
    for (std::size_t i = 0; i < std::min(options.size(), kMaxShown); ++i) {
        const Option& option = options[i];
        text += fmt::format("  {}. {}\n", i + 1, schedule::to_string(option.schedule));
        if (!option.illegal.empty())
            text += fmt::format("     not legal: {}\n", option.illegal);
        else
            text += fmt::format("     legal{}\n", guessed(option)) +
                    details(option.schedule, product, gpu);
    }
    if (options.size() > kMaxShown)
        text += fmt::format("  and {} more\n", options.size() - kMaxShown);
    const auto ranked = candidates(product.skeleton, product.problem);
    if (options.empty() && !ranked.empty())
        text += fmt::format("  the text gives none; the best guess for these sizes:\n     {}\n",
                            schedule::to_string(ranked.front())) +
                details(ranked.front(), product, gpu);
    return text + left_open(options, ranked.size());
}

std::string tensors_text(const PlannedStage& stage) {
    std::vector<std::string> writes;
    for (std::size_t i = 0; i < stage.writes.size(); ++i) {
        const ir::Type& type = stage.kernel.outputs.at(i).tensor.type;
        writes.push_back(fmt::format("{}: {}{}", stage.writes[i], info(type.dtype).name,
                                     ir::to_string(stage.kernel, type.dims)));
    }
    return fmt::format("{} from {}", fmt::join(writes, ", "), fmt::join(stage.reads, ", "));
}

std::string explain_cut(const Plan& plan, const GpuSpec& gpu) {
    std::string text = fmt::format(
        "runs on {} as {}\n", gpu.arch,
        plan.stages.size() == 1 ? "one kernel"
                                : fmt::format("a pipeline of {} kernels", plan.stages.size()));
    double bytes = 0;
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
        const PlannedStage& stage = plan.stages[i];
        text +=
            fmt::format("  {}. {}: {}", i + 1, tensors_text(stage), lower::describe(stage.kind));
        if (!stage.finds.empty())
            text += fmt::format("; it finds {} itself", fmt::join(stage.finds, " and "));
        text += "\n";
        for (std::size_t p = 0; p < stage.kernel.params.size(); ++p)
            if (ir::is_read(stage.kernel, p))
                bytes += bytes_of(stage.kernel.params[p], plan.extents);
        for (const ir::Output& output : stage.kernel.outputs)
            bytes += bytes_of(output.tensor, plan.extents);
    }
    for (const std::string& cut : plan.cuts) text += fmt::format("  {}\n", cut);
    if (plan.stages.size() > 1)
        text += fmt::format("  together they move at least {}\n", bytes_text(bytes));
    return text;
}

// The memory for intermediates, prepared operands and partial sums; "" if there is none, or if no
// schedule of the text is legal.
std::string explain_workspace(const dsl::Program& program, const ir::Kernel& kernel,
                              const Extents& extents, const Plan& plan, const GpuSpec& gpu) {
    const auto choice = choose_schedules(program, kernel, gpu.arch, extents);
    if (!choice) return "";
    const auto emitted = emit(kernel, *choice, gpu.arch, extents);
    if (!emitted) return "";
    const auto bytes = workspace_bytes(emitted->record, kernel, extents);
    if (bytes.empty()) return "";
    std::vector<std::string> parts;
    double total = 0, unnamed = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        total += bytes[i];
        if (i < plan.kept.size())  // the record lists the intermediates first
            parts.push_back(fmt::format("{} {}", plan.kept[i], bytes_text(bytes[i])));
        else
            unnamed += bytes[i];
    }
    if (unnamed > 0)
        parts.push_back(
            fmt::format("prepared operands, partial sums and counts {}", bytes_text(unnamed)));
    return fmt::format("  a call needs {} of workspace: {}\n", bytes_text(total),
                       fmt::join(parts, ", "));
}

}  // namespace

std::string explain_schedules(const dsl::Program& program, const ir::Kernel& kernel,
                              const Extents& extents, const GpuSpec& gpu) {
    const auto choice = choose_schedules(program, kernel, gpu.arch, extents);
    const auto plan =
        plan_stages(kernel, gpu.arch, extents, true, choice ? choice->schedules : Schedules{});
    if (!plan) return fmt::format("does not run on {}\n  {}\n", gpu.name, plan.error().message);
    std::string text =
        explain_cut(*plan, gpu) + explain_workspace(program, kernel, extents, *plan, gpu);
    for (const PlannedStage& stage : plan->stages)
        if (stage.product) text += explain_product(program, kernel, *stage.product, gpu);
    return text;
}

}  // namespace fact::tools

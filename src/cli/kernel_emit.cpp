// `fact kernel emit`; add_kernel_emit is declared in cli/kernel_commands.h, the rest in
// cli/kernel_emitted.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/kernel_emitted.h"
#include "lower/pipeline/lower.h"

namespace fact::cli {

Result<EmittedKernel> emit_kernel(const EmitOptions& options) {
    auto settings = tools::parse_settings(options.kernel.set);
    if (!settings) return settings.error();
    auto loaded = load(options.kernel);
    if (!loaded) return loaded.error();
    const ir::Kernel& kernel = *loaded->kernel;
    const auto extents = tools::bind_extents(kernel, *settings, tools::Assume::typical);
    if (!extents) return extents.error();
    Result<dsl::Program> given = loaded->program;
    if (!options.schedule.empty())
        given = tools::with_schedule(loaded->source, kernel, options.arch, options.schedule);
    if (!given) return given.error();
    const auto choice =
        tools::choose_schedules(*given, kernel, options.arch, *extents, options.tma);
    if (!choice) return choice.error();
    auto emitted = tools::emit(kernel, *choice, options.arch, *extents, options.dump_after);
    if (!emitted) return emitted.error();
    return EmittedKernel{std::move(loaded->source), std::move(*emitted),
                         fmt::format("{}", fmt::join(choice->notes, "\n"))};
}

Json emitted_json(const EmittedKernel& kernel) {
    const auto& [text, source, record] = kernel.emitted;
    return {{"kernel", record.kernel},
            {"arch", record.arch},
            {"schedule", record.schedule},
            {"text", text},
            {"source", source},
            {"record", json_of(record)},
            {"note", kernel.note}};
}

namespace {

int emit(const EmitOptions& options) {
    const auto emitted = emit_kernel(options);
    if (!emitted) return fail(emitted.error());
    if (options.json) {
        print(emitted_json(*emitted).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
        return kDone;
    }
    if (!emitted->note.empty()) fmt::print(stderr, "{}\n", emitted->note);
    print(emitted->emitted.source);
    return kDone;
}

}  // namespace

void add_kernel_emit(CLI::App& app, Action& action) {
    auto options = std::make_shared<EmitOptions>();
    auto* command = app.add_subcommand("emit", "Print the CUDA source of a kernel");
    add_emit_options(*command, *options);
    command
        ->add_option("--dump-after", options->dump_after,
                     "Print the kernel after a pass of the compiler: checked, expanded, cut")
        ->check(
            CLI::IsMember(std::vector<std::string>(lower::kPasses.begin(), lower::kPasses.end())));
    command->footer(
        "Example:  fact kernel emit mlp.fact --set M=8192,N=4096,K=1024 > mlp.cu\n"
        "Without a schedule in the text, the most promising one for the sizes is used.");
    command->callback([&action, options] { action = [options] { return emit(*options); }; });
}

}  // namespace fact::cli

// `fact kernel check`; add_kernel_check is declared in cli/kernel_commands.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/kernel_commands.h"
#include "support/json_fields.h"
#include "tools/check.h"

namespace fact::cli {

namespace {

struct KernelCheckOptions {
    std::vector<std::string> files;
    bool json = false;
};

std::string counted(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// The result for one file, as text for people.
std::string result_text(const tools::KernelSource& source, const tools::Checked& checked) {
    const auto& [program, found] = checked;
    const auto errors = static_cast<std::size_t>(
        std::ranges::count(found.items(), Severity::error, &Diagnostic::severity));
    const std::string all = render_all(found, source.name, source.text);
    if (!program) return all + counted(errors, "error") + "\n";
    const std::string pipelines =
        program->pipelines.empty() ? "" : ", " + counted(program->pipelines.size(), "pipeline");
    return all + fmt::format("{}: {}{}: no errors\n", source.name,
                             counted(program->kernels.size(), "kernel"), pipelines);
}

int check(const KernelCheckOptions& options) {
    auto items = nlohmann::ordered_json::array();
    bool fine = true;
    for (const std::string& file : options.files) {
        const auto source = tools::read_source(file);
        if (!source) return fail(source.error());
        const auto checked = tools::check(*source);
        fine = fine && checked.program;
        if (!options.json) print(result_text(*source, checked));
        for (auto& item : parse_json<nlohmann::ordered_json>(
                 render_json(checked.diagnostics, source->name, source->text)))
            items.push_back(std::move(item));
    }
    if (options.json) print(items.dump(2) + "\n");
    return fine ? kDone : kBadInput;
}

}  // namespace

void add_kernel_check(CLI::App& app, Action& action) {
    auto options = std::make_shared<KernelCheckOptions>();
    auto* command = app.add_subcommand("check", "Find the mistakes in kernel texts");
    command->add_option("FILE", options->files, "Kernel texts; - is standard input")->required();
    command->add_flag("--json", options->json,
                      "Print a JSON array: code, severity, place, message, fix");
    command->footer("Example:  fact kernel check mlp.fact\nExit code 2 when there are errors.");
    command->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace fact::cli

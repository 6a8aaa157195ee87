// `fact export`; add_export is declared in cli/commands.h.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "driver/kernelbench.h"
#include "support/files.h"

namespace fact::cli {

namespace {

struct PackageExport {
    std::string package, source, output;
    bool kernelbench = false;
};

// Whether the file may be written: nothing is there but what this command wrote, in a folder that
// exists.
Result<> check_exported(const std::filesystem::path& output) {
    if (auto fine = file_to_replace(output, driver::kSolutionStart, "a file of `fact export`");
        !fine)
        return fine.error();
    const auto folder = std::filesystem::absolute(output).parent_path();
    if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored))
        return Error{
            fmt::format("cannot write {}: {} is not a folder", output.string(), folder.string()),
            "make it first, or choose another output with -o"};
    return Ok{};
}

int export_package(const PackageExport& options) {
    const auto solution = driver::solution_of(options.package, options.source);
    if (!solution) return fail(solution.error());
    if (auto fine = check_exported(options.output); !fine) return fail(blame_input(fine.error()));
    if (auto done = write_file_atomic(options.output, driver::to_python(*solution)); !done)
        return fail(done.error());
    print(fmt::format("wrote {}\n", options.output));
    if (!solution->training)
        print(
            "  KernelBench runs modules in training mode, and this package was traced in eval "
            "mode:\n"
            "  with batch norm or dropout, use `fact optimize --training`\n");
    return kDone;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
    auto options = std::make_shared<PackageExport>();
    auto* command = app.add_subcommand("export", "Write a package in the form that others expect");
    command->add_option("PACKAGE", options->package, "Package folder")->required();
    command
        ->add_flag("--kernelbench", options->kernelbench,
                   "As a Python file with KernelBench's ModelNew: it builds the problem's Model, "
                   "whose weights follow from the seed, and runs the package with them")
        ->required();
    command->add_option("-o,--output", options->output, "File to write")->required();
    command->add_option("--source", options->source,
                        "The file that defines Model (default: what the package was made from)");
    command->footer("Example:  fact export --kernelbench model.fact -o new.py");
    command->callback(
        [&action, options] { action = [options] { return export_package(*options); }; });
}

}  // namespace fact::cli

// `fact kernel fmt`; add_kernel_fmt is declared in cli/kernel_commands.h.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/kernel_commands.h"
#include "support/files.h"

namespace fact::cli {

namespace fs = std::filesystem;

namespace {

struct KernelFmtOptions {
    std::string file;
    bool check = false, write = false;
};

Result<> rewrite(const fs::path& path, std::string_view text) {
    std::error_code failed;
    const auto permissions = fs::status(path, failed).permissions();
    if (auto written = write_file_atomic(path, text); !written) return written;
    // The file was replaced by a new one, which has default permissions.
    if (!failed) fs::permissions(path, permissions, failed);
    return Ok{};
}

int format_text(const KernelFmtOptions& options) {
    if (options.write && options.file == "-")
        return fail({"standard input cannot be rewritten", "leave out --write", true});
    const auto source = tools::read_source(options.file);
    if (!source) return fail(source.error());
    Diagnostics found;
    const auto text = dsl::format(source->text, found);
    if (!text) return fail(tools::mistakes(found, source->name, source->text));
    const bool changed = *text != source->text;
    if (options.check) {
        if (changed) fmt::print(stderr, "{} would be reformatted\n", source->name);
        return changed ? kFailed : kDone;
    }
    if (!options.write) {
        print(*text);
        return kDone;
    }
    if (changed)
        if (auto written = rewrite(options.file, *text); !written) return fail(written.error());
    print(fmt::format("{}: {}\n", source->name, changed ? "reformatted" : "unchanged"));
    return kDone;
}

}  // namespace

void add_kernel_fmt(CLI::App& app, Action& action) {
    auto options = std::make_shared<KernelFmtOptions>();
    auto* command = app.add_subcommand("fmt", "Print a kernel text in its canonical form");
    add_kernel_file(*command, options->file);
    auto* check = command->add_flag("--check", options->check,
                                    "Print nothing; exit code 1 when it would change");
    command->add_flag("--write", options->write, "Rewrite the file")->excludes(check);
    command->footer("Example:  fact kernel fmt --write mlp.fact");
    command->callback([&action, options] { action = [options] { return format_text(*options); }; });
}

}  // namespace fact::cli

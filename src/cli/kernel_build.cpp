// `fact kernel build`; add_kernel_build is declared in cli/kernel_commands.h.
#include <fmt/format.h>

#include <memory>

#include "cli/kernel_emitted.h"
#include "driver/environment.h"

namespace fact::cli {

namespace {

struct KernelBuildOptions {
    EmitOptions emit;
    std::string folder;
};

int build(const KernelBuildOptions& options) {
    const auto kernel = emit_kernel(options.emit);
    if (!kernel) return fail(kernel.error());
    const auto environment = driver::find_environment();
    if (!environment) return fail(environment.error());
    const auto toolchain = jit::find_toolchain();
    if (!toolchain) return fail(toolchain.error());
    const LaunchRecord& record = kernel->emitted.record;
    const std::filesystem::path folder =
        options.folder.empty() ? record.kernel + "." + record.arch : options.folder;
    const auto artifact =
        tools::build(kernel->source, kernel->emitted, *toolchain, environment->store, folder);
    if (!artifact) return fail(artifact.error());
    int shared_bytes = 0;  // of the launch that needs most
    for (const Launch& launch : record.launches)
        shared_bytes = std::max(shared_bytes, launch.shared_bytes);
    if (options.emit.json) {
        print(Json{{"kernel", record.kernel},
                   {"arch", record.arch},
                   {"schedule", record.schedule},
                   {"folder", folder.string()},
                   {"files", {"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"}},
                   {"registers", artifact->registers},
                   {"spill_bytes", artifact->spill_bytes},
                   {"serialized", artifact->fitness == jit::Fitness::serialized},
                   {"shared_bytes", shared_bytes},
                   {"seconds", artifact->seconds},
                   {"cached", artifact->cached},
                   {"note", kernel->note}}
                  .dump(2, ' ', false, Json::error_handler_t::replace) +
              "\n");
        return kDone;
    }
    if (!kernel->note.empty()) print(kernel->note + "\n");
    print(fmt::format(
        "registers: {} per thread, {} bytes spilled{}\nshared memory: {} bytes\n"
        "compiled in {:.1f} s{}\nwrote {}: kernel.fact, kernel.cu, kernel.cubin, record.json\n",
        artifact->registers, artifact->spill_bytes,
        artifact->fitness == jit::Fitness::serialized ? ", products serialized" : "", shared_bytes,
        artifact->seconds, artifact->cached ? " by an earlier run" : "", folder.string()));
    return kDone;
}

}  // namespace

void add_kernel_build(CLI::App& app, Action& action) {
    auto options = std::make_shared<KernelBuildOptions>();
    auto* command = app.add_subcommand("build", "Compile a kernel to a cubin and its record");
    add_emit_options(*command, options->emit);
    command->add_option("-o,--output", options->folder, "Folder to write (default: NAME.ARCH)");
    command->footer("Example:  fact kernel build mlp.fact --set M=8192,N=4096,K=1024 -o mlp");
    command->callback([&action, options] { action = [options] { return build(*options); }; });
}

}  // namespace fact::cli

// `fact version`; add_version is declared in cli/commands.h.
#include "support/version.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "gpu/driver.h"
#include "jit/compiler.h"

namespace fact::cli {

namespace {

std::string versions() {
    const auto device = gpu::device_info();
    const auto toolchain = jit::find_toolchain();
    return fmt::format("fact {}\ncompiler: {}\ngpu: {}", kVersion,
                       toolchain ? toolchain->version : toolchain.error().message,
                       device ? fmt::format("{}, {}, driver {}", device->name, device->arch,
                                            device->driver_version)
                              : device.error().message);
}

int show_version() {
    print(versions() + "\n");
    return kDone;
}

}  // namespace

void add_version(CLI::App& app, Action& action) {
    auto* command = app.add_subcommand("version", "Versions of FACT, the compiler and the GPU");
    command->callback([&action] { action = show_version; });
    app.set_version_flag("--version", versions, "The same as `fact version`");
}

}  // namespace fact::cli

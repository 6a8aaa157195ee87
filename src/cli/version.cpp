#include <fmt/format.h>

#include "cli/commands.h"
#include "gpu/driver.h"
#include "jit/compiler.h"

namespace fact::cli {

namespace {

constexpr std::string_view kVersion = "0.1.0";

int show_version() {
    const auto device = gpu::device_info();
    const auto toolchain = jit::find_toolchain();
    print(fmt::format("fact {}\n", kVersion));
    print(
        fmt::format("compiler: {}\n", toolchain ? toolchain->version : toolchain.error().message));
    print(fmt::format("gpu: {}\n", device ? fmt::format("{}, {}, driver {}", device->name,
                                                        device->arch, device->driver_version)
                                          : device.error().message));
    return kDone;
}

}  // namespace

void add_version(CLI::App& app, Action& action) {
    auto* command = app.add_subcommand("version", "Versions of FACT, the compiler and the GPU");
    command->callback([&action] { action = show_version; });
}

}  // namespace fact::cli

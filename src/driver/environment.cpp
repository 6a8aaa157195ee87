#include "driver/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "target/gpu_spec.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

fs::path own_program() {
    std::error_code ignored;
    return fs::read_symlink("/proc/self/exe", ignored);
}

}  // namespace

Result<fs::path> own_folder() {
    std::error_code ignored;
    if (auto given = variable("FACT_ROOT"); !given.empty()) return fs::path(given);
    for (auto place = own_program(); place.has_relative_path();) {
        place = place.parent_path();
        if (fs::exists(place / "python" / "fact" / "trace.py", ignored)) return place;
    }
    return Error{"FACT's own folder was not found above its program",
                 "set FACT_ROOT to the folder that holds python/ and kernels/"};
}

namespace {

// The path that the environment variable gives, else that of the file which the build puts near
// this program; "" if there is neither.
std::string built_file(const char* name, const char* file) {
    if (auto given = variable(name); !given.empty()) return given;
    std::error_code ignored;
    const auto path = own_program().parent_path() / "torch" / file;
    return fs::exists(path, ignored) ? path.string() : std::string();
}

fs::path find_store() {
    if (auto given = variable("FACT_CACHE_DIR"); !given.empty()) return given;
    if (auto given = variable("XDG_CACHE_HOME"); !given.empty()) return fs::path(given) / "fact";
    if (auto home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache" / "fact";
    return fs::path(".fact") / "cache";
}

}  // namespace

registry::Folders registry_folders() {
    registry::Folders folders;
    const auto given = variable("FACT_REGISTRY");
    folders.own = fs::absolute(given.empty() ? find_store() / "registry" : fs::path(given))
                      .lexically_normal();
    // Without a slash at its end: it is compared with the grandparent folder of a record file.
    if (!folders.own.has_filename()) folders.own = folders.own.parent_path();
    const auto root = own_folder();
    if (!root) return folders;
    const auto shipped = fs::absolute(*root / "registry").lexically_normal();
    std::error_code ignored;
    if (fs::is_directory(shipped, ignored) && shipped != folders.own)
        folders.shipped.push_back(shipped);
    return folders;
}

std::string own_commit(const Environment& environment) {
    if (auto given = variable("FACT_COMMIT"); !given.empty()) return given;
    Command command;
    command.argv = {"git", "-C", environment.root.string(), "rev-parse", "--short", "HEAD"};
    command.deadline = Seconds(5);
    const auto exit = run(command);
    if (!exit || !exit->ok()) return {};
    return exit->out.substr(0, exit->out.find('\n'));
}

Result<Environment> find_environment(std::string_view arch) {
    if (arch != kDefaultArch)
        return Error{fmt::format("there are no kernels for the architecture {} yet", arch),
                     fmt::format("use {} ({}), the only one with kernels", kDefaultArch,
                                 find_arch(kDefaultArch)->gpus),
                     true};
    Environment environment;
    auto root = own_folder();
    if (!root) return root.error();
    environment.root = *root;
    environment.python = variable("FACT_PYTHON").empty() ? "python3" : variable("FACT_PYTHON");
    environment.worker = built_file("FACT_WORKER", "fact-worker");
    environment.store = find_store();
    environment.registry = registry_folders();
    const auto device = gpu::device_info();
    if (!device)
        environment.why_no_gpu = "there is no usable GPU: " + device.error().message;
    else if (device->arch != arch)
        environment.why_no_gpu = fmt::format("the {} is {}, and the kernels are for {}",
                                             device->name, device->arch, arch);
    else
        environment.gpu = *device;
    return environment;
}

Command python_module(const Environment& environment, const std::string& module,
                      const std::vector<std::string>& arguments) {
    Command command;
    command.argv = {environment.python, "-m", module};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    auto path = (environment.root / "python").string();
    if (auto given = variable("PYTHONPATH"); !given.empty()) path += ":" + given;
    // With PYTHONSAFEPATH, files of the current folder cannot take the place of Python's or FACT's
    // own modules; fact.trace adds that folder later, to import the user's module.
    command.environment = {
        {"PYTHONPATH", path}, {"PYTHONSAFEPATH", "1"}, {"FACT_ROOT", environment.root.string()}};
    if (auto library = built_file("FACT_OPS", "libfact_ops.so"); !library.empty())
        command.environment.emplace_back("FACT_OPS", library);
    return command;
}

std::optional<Error> bad_input_of(const Exit& exit) {
    constexpr int kBadInput = 2;  // the exit code of FACT's Python modules for bad input
    constexpr std::string_view kMessage = "\nerror: ";
    auto text = "\n" + exit.err;
    text.erase(text.find_last_not_of(" \n") + 1);
    // Anything before the message is output of the user's own program.
    const auto at = text.rfind(kMessage);
    if (exit.signal || exit.code != kBadInput || at == std::string::npos) return std::nullopt;
    return Error{text.substr(at + kMessage.size()), {}, true};
}

std::string table_name(const Environment& environment, const std::string& arch) {
    if (environment.gpu)
        if (const auto row = gpu_of_device(environment.gpu->name)) return std::string(row->name);
    const auto typical = default_gpu(arch);
    return typical ? std::string(typical->name) : std::string();
}

}  // namespace fact::driver

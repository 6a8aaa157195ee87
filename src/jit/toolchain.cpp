// Where nvcc, CUTLASS and FACT's skeletons are: find_toolchain() of jit/compiler.h.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <regex>

#include "jit/compiler.h"
#include "support/files.h"
#include "support/memory.h"

namespace fact::jit {

namespace {

namespace fs = std::filesystem;

constexpr int kOldestNvcc = 1204;  // 12.4, as 100 * major + minor

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

bool is_program(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// lib/python3.x/site-packages of an environment; "" if it has none.
fs::path site_packages(const std::string& prefix) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::path(prefix) / "lib", ignored))
        if (entry.path().filename().string().starts_with("python"))
            return entry.path() / "site-packages";
    return {};
}

std::vector<fs::path> nvcc_places() {
    std::vector<fs::path> places;
    std::string path = variable("PATH");
    for (std::size_t begin = 0; begin < path.size();) {
        std::size_t end = std::min(path.find(':', begin), path.size());
        if (end > begin) places.push_back(fs::path(path.substr(begin, end - begin)) / "nvcc");
        begin = end + 1;
    }
    places.push_back("/usr/local/cuda/bin/nvcc");
    if (std::string prefix = variable("FACT_PYTHON_PREFIX"); !prefix.empty())
        places.push_back(site_packages(prefix) / "nvidia" / "cu13" / "bin" / "nvcc");
    return places;
}

struct Nvcc {
    fs::path path;
    std::string version;  // "13.0.88"
};

Result<Nvcc> ask_version(const fs::path& path) {
    Command command;
    command.argv = {path.string(), "--version"};
    command.deadline = Seconds(20);
    auto exit = run(command);
    if (!exit) return exit.error();
    std::smatch found;
    static const std::regex pattern(R"(V(\d+)\.(\d+)\.(\d+))");
    if (!exit->ok() || !std::regex_search(exit->out, found, pattern))
        return Error{fmt::format("{} --version did not name a version", path.string()),
                     "Set FACT_NVCC to CUDA's compiler."};
    const int release = std::stoi(found[1]) * 100 + std::stoi(found[2]);
    if (release < kOldestNvcc)
        return Error{fmt::format("{} belongs to CUDA {}.{}; at least 12.4 is needed", path.string(),
                                 found[1].str(), found[2].str()),
                     "Set FACT_NVCC to a newer one."};
    return Nvcc{path, fmt::format("{}.{}.{}", found[1].str(), found[2].str(), found[3].str())};
}

Result<Nvcc> find_nvcc() {
    if (std::string given = variable("FACT_NVCC"); !given.empty()) {
        if (!is_program(given))
            return Error{fmt::format("FACT_NVCC names {}, which is not a program", given),
                         "Set it to the path of nvcc."};
        return ask_version(given);
    }
    Error last{"no nvcc: kernels cannot be compiled here",
               "Install CUDA's compiler (12.4 or newer) and put it on PATH, or set FACT_NVCC; the "
               "Python packages nvidia-cuda-nvcc, -crt, -runtime, -cccl and nvidia-nvvm bring it "
               "too."};
    for (const auto& place : nvcc_places()) {
        if (!is_program(place)) continue;
        auto nvcc = ask_version(place);
        if (nvcc) return nvcc;
        last = nvcc.error();
    }
    return last;
}

// The --version of nvcc's host compiler; "" if it prints none.
std::string host_compiler() {
    fs::path program = variable("NVCC_CCBIN");
    std::error_code ignored;
    if (fs::is_directory(program, ignored)) program /= "gcc";
    Command command;
    command.argv = {program.empty() ? "gcc" : program.string(), "--version"};
    command.deadline = Seconds(20);
    const auto exit = run(command);
    return exit && exit->ok() ? exit->out.substr(0, exit->out.find('\n')) : std::string();
}

struct Cutlass {
    fs::path include;
    std::string version;  // "4.2.0"
};

Result<Cutlass> find_cutlass() {
    std::vector<fs::path> places;
    if (auto given = variable("FACT_CUTLASS_INCLUDE"); !given.empty()) places.push_back(given);
    if (auto given = variable("CUTLASS_DIR"); !given.empty())
        places.push_back(fs::path(given) / "include");
    if (auto given = variable("FACT_DEPS_DIR"); !given.empty())
        places.push_back(fs::path(given) / "include");
    if (auto given = variable("FACT_PYTHON_PREFIX"); !given.empty())
        places.push_back(site_packages(given) / "cutlass_library" / "source" / "include");

    for (const auto& place : places) {
        auto header = read_file(place / "cutlass" / "version.h");
        if (!header) continue;
        std::string version;
        for (const char* part : {"MAJOR", "MINOR", "PATCH"}) {
            std::smatch found;
            std::regex pattern(fmt::format(R"(#define CUTLASS_{}\s+(\d+))", part));
            if (!std::regex_search(*header, found, pattern)) break;
            if (!version.empty()) version += '.';
            version += found[1];
        }
        if (!version.empty()) return Cutlass{place, version};
    }
    return Error{"no CUTLASS headers: kernels cannot be compiled here",
                 "Set CUTLASS_DIR to a CUTLASS 4 checkout, or FACT_CUTLASS_INCLUDE to the "
                 "include folder of the Python package nvidia-cutlass."};
}

Result<fs::path> find_kernels() {
    if (auto root = variable("FACT_ROOT"); !root.empty()) {
        fs::path folder = fs::path(root) / "kernels";
        if (fs::is_directory(folder)) return folder;
        return Error{fmt::format("FACT_ROOT names {}, which has no kernels folder", root),
                     "Set it to FACT's own folder."};
    }
    std::error_code failed;
    fs::path place = fs::read_symlink("/proc/self/exe", failed);
    while (!failed && place.has_relative_path()) {
        place = place.parent_path();
        std::error_code ignored;
        if (fs::is_directory(place / "kernels" / "sm90", ignored)) return place / "kernels";
    }
    return Error{"the kernels folder of FACT was not found above its own program",
                 "Set FACT_ROOT to FACT's own folder."};
}

}  // namespace

Result<Toolchain> find_toolchain() {
    // The host compiler is asked for its version while nvcc is searched for.
    auto host = std::async(std::launch::async, host_compiler);
    auto nvcc = find_nvcc();
    if (!nvcc) return nvcc.error();
    auto cutlass = find_cutlass();
    if (!cutlass) return cutlass.error();
    auto kernels = find_kernels();
    if (!kernels) return kernels.error();
    auto memory = memory_from_environment("FACT_COMPILER_MEMORY", kDefaultCompilerMemory);
    if (!memory) return memory.error();
    Toolchain toolchain;
    toolchain.memory_bytes = *memory;
    toolchain.nvcc = nvcc->path;
    toolchain.cutlass_include = cutlass->include;
    toolchain.kernels_folder = *kernels;
    toolchain.host_compiler = host.get();
    toolchain.version = fmt::format("nvcc {}, CUTLASS {}", nvcc->version, cutlass->version);
    return toolchain;
}

}  // namespace fact::jit

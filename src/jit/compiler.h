// From CUDA source to a cubin in a content-addressed store.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "jit/compile_log.h"
#include "support/result.h"
#include "support/subprocess.h"

namespace fact::jit {

// Several times what the largest kernel takes.
inline constexpr std::uint64_t kUsualCompilerMemory = std::uint64_t{16} << 30;

// What compiles: found once, named in every key.
struct Toolchain {
    std::filesystem::path nvcc, cutlass_include, kernels_folder;
    std::vector<std::string> include_folders;  // beside those: CUDA headers from a Python package
    std::string version;                       // nvcc's release and CUTLASS's version
    // The most address space each of the compiler's passes may take; 0: no limit.
    std::uint64_t memory_bytes = kUsualCompilerMemory;
};
// FACT_NVCC and PATH, CUTLASS_DIR, FACT_DEPS_DIR, the private environment (FACT_PYTHON_PREFIX);
// FACT_COMPILER_MEMORY in GiB.
Result<Toolchain> find_toolchain();

struct Unit {
    std::string name;    // file stem
    std::string source;  // CUDA C++
    std::string arch = "sm90a";
};

struct Artifact {
    std::filesystem::path cubin;  // in the store
    std::string key;
    bool cached = false;
    double seconds = 0;
    int registers = 0, spill_bytes = 0;
    Fitness fitness = Fitness::sound;
    std::string log;
};

// Key: source, every header it includes (ours and CUTLASS's version), compiler, flags, arch.
// A failing compiler is an Error with its log.
Result<Artifact> compile(const Unit& unit, const Toolchain& toolchain,
                         const std::filesystem::path& store, Seconds deadline);

// What the store has of it already; an Error where it would have to be compiled.
Result<Artifact> find_compiled(const Unit& unit, const Toolchain& toolchain,
                               const std::filesystem::path& store);

// All units on `jobs` processes; results in the order of `units`. `done(i, result)` is called on
// the calling thread as each one finishes.
std::vector<Result<Artifact>> compile_all(
    const std::vector<Unit>& units, const Toolchain& toolchain, const std::filesystem::path& store,
    int jobs, Seconds deadline,
    const std::function<void(std::size_t, const Result<Artifact>&)>& done = {});

}  // namespace fact::jit

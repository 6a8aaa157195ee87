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
    std::string host_compiler;                 // what the program says that nvcc preprocesses with
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
    std::string sha256;           // of the cubin
    std::string key;
    std::string headers;  // the list of what was read, by name (jit/headers.h)
    bool cached = false;
    double seconds = 0;
    int registers = 0, spill_bytes = 0;
    Fitness fitness = Fitness::sound;
    std::string log;
    // Of this very cubin: what was proven of it holds for no other, be it of the same key.
    std::string identity() const { return key + "-" + sha256.substr(0, 16); }
};

// Key: source, our headers, versions of the compilers and of CUTLASS, flags, what the compilers
// take from the environment, arch. An entry of the store serves while every header that was read,
// whoever it is from, and the cubin itself are as they were. A failing compiler is an Error with
// its log.
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

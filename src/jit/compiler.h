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

// In bytes: several times what compiling the largest kernel needs.
inline constexpr std::uint64_t kDefaultCompilerMemory = std::uint64_t{16} << 30;

// The compilers and headers: found once, and part of every key.
struct Toolchain {
    std::filesystem::path nvcc, cutlass_include, kernels_folder;
    std::vector<std::string> include_folders;  // further ones: CUDA headers from a Python package
    std::string version;                       // nvcc's release and CUTLASS's version
    std::string host_compiler;                 // the --version of nvcc's host compiler
    // The most address space that each of the compiler's passes may use; 0: no limit.
    std::uint64_t memory_bytes = kDefaultCompilerMemory;
};
// Searches for nvcc in FACT_NVCC and PATH, for CUTLASS in FACT_CUTLASS_INCLUDE, CUTLASS_DIR and
// FACT_DEPS_DIR, and for both in FACT's own Python environment (FACT_PYTHON_PREFIX). The kernels
// folder is in FACT_ROOT or above this program; FACT_COMPILER_MEMORY, in GiB, limits the memory.
Result<Toolchain> find_toolchain();

struct Unit {
    std::string name;    // file stem
    std::string source;  // CUDA C++
    std::string arch = "sm90a";
};

struct Artifact {
    std::filesystem::path cubin;  // in the store
    std::string sha256;           // of the cubin
    std::string key;              // compile_key() of the unit
    std::string headers;          // the name of the list of headers that were read (jit/headers.h)
    bool cached = false;          // it was in the store already
    double seconds = 0;           // that compiling it took
    int registers = 0, spill_bytes = 0;
    Fitness fitness = Fitness::sound;
    std::string log;
    // Identifies exactly this cubin: a proof of it need not hold for another cubin, even one with
    // the same key.
    std::string identity() const { return key + "-" + sha256.substr(0, 16); }
};

// The key covers source, our headers, versions of the compilers and of CUTLASS, flags, the
// environment variables that the compilers read, and arch. An entry of the store is valid while
// every header that was read (not only FACT's) and the cubin itself are unchanged. If the
// compiler fails, the Error has its log.
Result<Artifact> compile(const Unit& unit, const Toolchain& toolchain,
                         const std::filesystem::path& store, Seconds deadline);

// The unit's entry in the store; an Error if it would have to be compiled.
Result<Artifact> find_compiled(const Unit& unit, const Toolchain& toolchain,
                               const std::filesystem::path& store);

// Compiles all units in `jobs` processes; results are in the order of `units`. `done(i, result)` is
// called on the calling thread as each one finishes.
std::vector<Result<Artifact>> compile_all(
    const std::vector<Unit>& units, const Toolchain& toolchain, const std::filesystem::path& store,
    int jobs, Seconds deadline,
    const std::function<void(std::size_t, const Result<Artifact>&)>& done = {});

}  // namespace fact::jit

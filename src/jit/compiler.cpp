#include "jit/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "jit/compile_key.h"
#include "jit/compile_log.h"
#include "support/files.h"
#include "support/memory.h"

namespace fact::jit {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A finished folder of the store: kernel.cu, kernel.cubin, log.txt, meta.json.
Result<Artifact> stored(const fs::path& folder, const std::string& key) {
    auto text = read_file(folder / "meta.json");
    if (!text) return text.error();
    auto log = read_file(folder / "log.txt");
    if (!log) return log.error();
    json meta = json::parse(*text, nullptr, false);
    if (!meta.is_object()) return Error{"damaged meta.json", ""};
    Artifact artifact;
    artifact.cubin = folder / "kernel.cubin";
    std::error_code ignored;
    if (!fs::is_regular_file(artifact.cubin, ignored)) return Error{"no cubin", ""};
    artifact.key = key;
    artifact.cached = true;
    artifact.seconds = meta.value("seconds", 0.0);
    artifact.registers = meta.value("registers", 0);
    artifact.spill_bytes = meta.value("spill_bytes", 0);
    artifact.fitness = resources_in(*log).fitness();
    artifact.log = std::move(*log);
    return artifact;
}

Command nvcc_command(const Unit& unit, const Toolchain& toolchain, const fs::path& folder) {
    Command command;
    command.argv = {toolchain.nvcc.string()};
    for (const auto& flag : code_flags(unit.arch)) command.argv.push_back(flag);
    for (const auto& include : {toolchain.kernels_folder, toolchain.cutlass_include})
        command.argv.insert(command.argv.end(), {"-I", include.string()});
    for (const auto& include : toolchain.include_folders)
        command.argv.insert(command.argv.end(), {"-I", include});
    command.argv.insert(command.argv.end(), {"-o", "kernel.cubin", "kernel.cu"});
    command.folder = folder.string();
    command.address_bytes = toolchain.memory_bytes;
    // A killed compiler leaves its temporary files: they go with the folder.
    command.environment = {{"TMPDIR", folder.string()}};
    return command;
}

// Renames into place. Another process may have published the same key first: equally good.
Result<> publish(const fs::path& from, const fs::path& to) {
    std::error_code code;
    fs::rename(from, to, code);
    if (!code || (fs::exists(to / "meta.json") && fs::exists(to / "kernel.cubin"))) return Ok{};
    // What is there is not whole (a disk that filled up, a hand that deleted): make room.
    std::error_code ignored;
    fs::remove_all(to, ignored);
    fs::rename(from, to, code);
    if (code)
        return Error{fmt::format("cannot write {}: {}", to.string(), code.message()),
                     "Free some space, or choose another store."};
    return Ok{};
}

// As compilers, their allocators and the C library put it.
constexpr std::array<std::string_view, 5> kOutOfMemory{"out of memory", "bad_alloc",
                                                       "Cannot allocate memory", "memory exhausted",
                                                       "Memory allocation failure"};
constexpr std::array<std::string_view, 2> kFullDisk{"No space left on device",
                                                    "Disk quota exceeded"};

template <std::size_t kCount>
bool says_any(const std::string& log, const std::array<std::string_view, kCount>& phrases) {
    return std::ranges::any_of(
        phrases, [&](std::string_view phrase) { return log.find(phrase) != log.npos; });
}

// Keeps the source and the whole log of a failure, and says where.
Error failed(const Unit& unit, const Exit& exit, const std::string& log, Seconds deadline,
             std::uint64_t memory_bytes, const fs::path& folder) {
    std::string where;
    if (write_file_atomic(folder / "kernel.cu", unit.source) &&
        write_file_atomic(folder / "log.txt", log))
        where = fmt::format("The whole log and the source are in {}.", folder.string());
    if (exit.timed_out)
        return {fmt::format("compiling {} took longer than {:.0f} s", unit.name, deadline.count()),
                where};
    if (says_any(log, kFullDisk))
        return {fmt::format("the disk filled up while {} was compiled", unit.name),
                "Free some space, or choose another store."};
    if (memory_bytes > 0 && says_any(log, kOutOfMemory))
        return {fmt::format("compiling {} needed more than {} of memory", unit.name,
                            memory_text(memory_bytes)),
                "FACT_COMPILER_MEMORY sets the limit, in GiB. " + where};
    if (exit.signal)
        return {fmt::format("the compiler of {} was ended by signal {}", unit.name, exit.signal),
                where};
    return {fmt::format("{} does not compile:\n{}", unit.name, first_errors(log)), where};
}

}  // namespace

Result<Artifact> find_compiled(const Unit& unit, const Toolchain& toolchain,
                               const fs::path& store) {
    const std::string key = compile_key(unit, toolchain);
    return stored(fs::absolute(store) / key, key);
}

namespace {

// Keys that a thread of this process compiles now: whoever else wants one waits for it.
class InProgress {
  public:
    explicit InProgress(std::string key) : key_(std::move(key)) {
        std::unique_lock lock(mutex());
        ended().wait(lock, [&] { return !keys().contains(key_); });
        keys().insert(key_);
    }
    ~InProgress() {
        const std::lock_guard lock(mutex());
        keys().erase(key_);
        ended().notify_all();
    }
    InProgress(const InProgress&) = delete;
    InProgress& operator=(const InProgress&) = delete;

  private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    static std::condition_variable& ended() {
        static std::condition_variable one;
        return one;
    }
    static std::set<std::string>& keys() {
        static std::set<std::string> all;
        return all;
    }
    std::string key_;
};

}  // namespace

Result<Artifact> compile(const Unit& unit, const Toolchain& toolchain, const fs::path& given_store,
                         Seconds deadline) {
    // nvcc runs in a folder of its own, so that every path has to be absolute.
    const fs::path store = fs::absolute(given_store);
    const std::string key = compile_key(unit, toolchain);
    const fs::path home = store / key;
    const InProgress alone(key);
    if (auto hit = stored(home, key)) return hit;
    if (auto writable = ensure_writable_folder(store); !writable) return writable.error();

    TemporaryFolder work(store, ".compiling");
    const fs::path folder = work.path() / "unit";
    if (auto written = write_file_atomic(folder / "kernel.cu", unit.source); !written)
        return written.error();
    Command command = nvcc_command(unit, toolchain, folder);
    command.deadline = deadline;
    auto exit = run(command);
    if (!exit) return exit.error();
    const std::string log = exit->out + exit->err;
    if (interrupted()) return Error{"interrupted", ""};
    if (!exit->ok() || !fs::exists(folder / "kernel.cubin"))
        return failed(unit, *exit, log, deadline, toolchain.memory_bytes, store / "failed" / key);

    const Resources resources = resources_in(log);
    const json meta = {{"name", unit.name},
                       {"arch", unit.arch},
                       {"toolchain", toolchain.version},
                       {"flags", code_flags(unit.arch)},
                       {"headers", header_closure(unit.source, toolchain.kernels_folder)},
                       {"seconds", exit->seconds},
                       {"registers", resources.registers},
                       {"spill_bytes", resources.spill_bytes}};
    if (auto written = write_file_atomic(folder / "log.txt", log); !written) return written.error();
    if (auto written = write_file_atomic(folder / "meta.json", meta.dump(2) + "\n"); !written)
        return written.error();
    if (auto published = publish(folder, home); !published) return published.error();
    auto artifact = stored(home, key);
    if (artifact) artifact->cached = false;
    return artifact;
}

}  // namespace fact::jit

#include "jit/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "jit/compile_key.h"
#include "jit/compile_log.h"
#include "jit/headers.h"
#include "jit/store.h"
#include "support/files.h"
#include "support/memory.h"

namespace fact::jit {

namespace {

namespace fs = std::filesystem;

Command nvcc_command(const Unit& unit, const Toolchain& toolchain, const fs::path& folder) {
    Command command;
    command.argv = {toolchain.nvcc.string()};
    for (const auto& flag : code_flags(unit.arch)) command.argv.push_back(flag);
    for (const auto& include : {toolchain.kernels_folder, toolchain.cutlass_include})
        command.argv.insert(command.argv.end(), {"-I", include.string()});
    for (const auto& include : toolchain.include_folders)
        command.argv.insert(command.argv.end(), {"-I", include});
    command.argv.insert(command.argv.end(),
                        {"-MD", "-MF", "headers.d", "-o", "kernel.cubin", "kernel.cu"});
    command.folder = folder.string();
    command.address_bytes = toolchain.memory_bytes;
    // A killed compiler leaves its temporary files: they are removed with the folder.
    command.environment = {{"TMPDIR", folder.string()}};
    return command;
}

// The messages of compilers, their allocators and the C library.
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

// The Error of a failed compilation. The source and the whole log are kept in the folder `kept`,
// which the hint names.
Error failed(const Unit& unit, const Exit& exit, const std::string& log, Seconds deadline,
             std::uint64_t memory_bytes, const fs::path& store, const fs::path& kept) {
    // Compilers do not always say why they cannot write.
    if (says_any(log, kFullDisk) || disk_is_full(store))
        return {fmt::format("no space left on the disk of {}: {} was not compiled", store.string(),
                            unit.name),
                "Free some space there, or set FACT_CACHE_DIR to another folder."};
    std::string where;
    if (write_file_atomic(kept / "kernel.cu", unit.source) &&
        write_file_atomic(kept / "log.txt", log))
        where = fmt::format("The whole log and the source are in {}.", kept.string());
    if (exit.timed_out)
        return {fmt::format("compiling {} took longer than {:.0f} s", unit.name, deadline.count()),
                where};
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
    return find_entry(fs::absolute(store), compile_key(unit, toolchain), toolchain);
}

namespace {

// Marks a key as being compiled by a thread of this process: until this object is destroyed, other
// threads that need the same key wait.
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

// Compiles in `folder`, which is then moved into the store; nullopt if a header was edited while
// the compiler ran.
Result<std::optional<Artifact>> attempt(const Unit& unit, const Toolchain& toolchain,
                                        const fs::path& store, const std::string& key,
                                        const fs::path& folder, Seconds deadline) {
    if (auto written = write_file_atomic(folder / "kernel.cu", unit.source); !written)
        return written.error();
    Command command = nvcc_command(unit, toolchain, folder);
    command.deadline = deadline;
    auto exit = run(command);
    if (!exit) return exit.error();
    const std::string log = exit->out + exit->err;
    if (interrupted()) return Error{"interrupted", ""};
    if (!exit->ok() || !fs::exists(folder / "kernel.cubin"))
        return failed(unit, *exit, log, deadline, toolchain.memory_bytes, store,
                      store / "failed" / key);
    if (auto written = write_file_atomic(folder / "log.txt", log); !written) return written.error();

    std::vector<fs::path> headers;
    if (const auto rule = read_file(folder / "headers.d")) headers = headers_in_make_rule(*rule);
    const auto list = keep_headers(headers, toolchain, store);
    if (!list) return list.error();
    // kernel.cu was written just before the compiler started.
    if (any_written_since(folder / "kernel.cu", headers) || compile_key(unit, toolchain) != key)
        return std::optional<Artifact>();
    auto artifact = publish(folder, store, key, unit, toolchain, *list, exit->seconds);
    if (!artifact) return artifact.error();
    return std::optional(std::move(*artifact));
}

}  // namespace

Result<Artifact> compile(const Unit& unit, const Toolchain& toolchain, const fs::path& given_store,
                         Seconds deadline) {
    constexpr int kAttempts = 3;
    // nvcc runs in a folder of its own, so every path has to be absolute.
    const fs::path store = fs::absolute(given_store);
    for (int i = 0; i < kAttempts; ++i) {
        const std::string key = compile_key(unit, toolchain);
        const InProgress in_progress(key);
        if (auto hit = find_entry(store, key, toolchain)) return hit;
        if (auto writable = ensure_writable_folder(store); !writable) return writable.error();
        const TemporaryFolder work(store, ".compiling");
        auto made = attempt(unit, toolchain, store, key, work.path() / "unit", deadline);
        if (!made) return made.error();
        if (*made) return std::move(**made);
    }
    return Error{fmt::format("the headers of {} were edited while it was compiled", unit.name),
                 "Run the same command again when nobody edits them."};
}

}  // namespace fact::jit

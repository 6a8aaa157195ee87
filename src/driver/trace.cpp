#include "driver/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "support/files.h"
#include "support/hash.h"
#include "support/json_fields.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

constexpr int kUncaught = 1;  // Python's exit code for an exception nobody caught

bool is_factory(const std::string& source) {
    std::error_code ignored;
    return source.find(':') != std::string::npos && !fs::exists(source, ignored);
}

// What the tracer wrote to standard error, as an Error.
Error tracing_failed(const Exit& exit) {
    if (interrupted()) return {"interrupted", {}};
    if (exit.signal)
        return {fmt::format("Python was ended by signal {} while tracing", exit.signal), exit.err};
    if (const auto bad = bad_input_of(exit)) return *bad;
    auto text = exit.err;
    text.erase(text.find_last_not_of(" \n") + 1);
    if (exit.code == kUncaught) return {std::move(text), {}};
    return {fmt::format("the tracer ended without writing model.pt2 (exit code {})", exit.code),
            "something in the module ends Python, such as os._exit: remove it", true};
}

Result<> move_file(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) return file_error("write", to, error.value());
    return Ok{};
}

struct FileStatus {
    std::int64_t size = 0, mtime_ns = 0;  // bytes; the time of the last change
};
// nullopt unless `file` is a regular file.
std::optional<FileStatus> status_of(const fs::path& file) {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return FileStatus{status.st_size,
                      status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

// Identifies a folder that the module listed: the SHA-256 of the names in it, without hidden ones
// and Python's caches.
std::string listing_hash(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        auto name = entry.path().filename().string();
        if (!name.starts_with('.') && name != "__pycache__") names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    return sha256_hex(fmt::format("{}", fmt::join(names, "\n")));
}

// Whether a file still matches the tracer's stamp: by content, or by time if it is large.
bool unchanged(const fs::path& file, const nlohmann::json& stamp) {
    if (stamp.is_null()) return false;  // it was edited while it was being traced
    std::error_code ignored;
    if (stamp.contains("absent")) return !fs::exists(file, ignored);
    if (stamp.contains("listing")) return listing_hash(file) == get_text(stamp, "listing");
    const auto now = status_of(file);
    if (!now || now->size != get_int(stamp, "size")) return false;
    if (stamp.contains("mtime_ns")) return now->mtime_ns == get_int(stamp, "mtime_ns");
    const auto text = read_file(file);
    return text && sha256_hex(*text) == get_text(stamp, "sha256");
}

// Identifies everything the archive depends on, and the archive itself; "" if that is not known or
// has changed.
std::string fingerprint(const Environment& environment, const TraceRequest& request,
                        const RunFolder& run) {
    const auto identity = module_identity(environment, request, run);
    const auto archive = status_of(run.archive());
    if (identity.empty() || !archive) return {};
    return fmt::format("{}{} {}\n", identity, archive->size, archive->mtime_ns);
}

}  // namespace

std::string module_identity(const Environment& environment, const TraceRequest& request,
                            const RunFolder& run) {
    const auto listing = read_file(run.sources());
    if (!listing) return {};
    std::error_code ignored;
    auto out = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", fs::current_path(ignored).string(),
                           request.source, request.dtype, request.training, request.without_weights,
                           request.device, environment.python,
                           environment.gpu ? environment.gpu->name : "");
    try {
        const auto json = parse_json(*listing);
        out += get_text(json, "torch", "") + "\n";
        for (const auto& [file, stamp] : to_object(field(json, "files")).items()) {
            if (!unchanged(file, stamp)) return {};
            out += file + " " + stamp.dump() + "\n";
        }
        for (const auto& name : get_texts(json, "variables")) {
            const char* value = std::getenv(name.c_str());
            out += name + (value ? fmt::format("={}\n", value) : "\n");
        }
    } catch (const SchemaError&) {
        return {};
    }
    return out;
}

Result<> check_source(const std::string& source) {
    std::error_code ignored;
    if (is_factory(source)) return Ok{};
    if (!fs::exists(source, ignored))
        return Error{source + ": no such file",
                     "give a Python file with Model, get_inputs() and get_init_inputs(), or "
                     "package.module:factory",
                     true};
    if (fs::is_directory(source, ignored) || fs::path(source).extension() != ".py")
        return Error{source + ": not a Python file (*.py)",
                     "give FILE.py or package.module:factory", true};
    return Ok{};
}

Result<> trace(const Environment& environment, const TraceRequest& request, const fs::path& archive,
               const fs::path& sources) {
    if (auto fine = check_source(request.source); !fine) return fine;
    const auto target = file_to_replace(archive);
    if (!target) return blame_input(target.error());
    const auto folder = fs::absolute(*target).parent_path();
    if (auto fine = ensure_writable_folder(folder); !fine) return blame_input(fine.error());
    // Made by this process, so that nothing stays behind if the child is killed.
    const TemporaryFolder work(folder, ".trace");
    const auto made = work.path() / target->filename(), listed = work.path() / "sources.json";
    std::vector<std::string> arguments{request.source,  "-o",       made.string(), "--sources",
                                       listed.string(), "--device", request.device};
    if (!request.dtype.empty()) arguments.insert(arguments.end(), {"--dtype", request.dtype});
    if (request.training) arguments.push_back("--training");
    if (request.without_weights) arguments.push_back("--without-weights");
    if (request.verbose) arguments.push_back("--verbose");
    const auto exit = fact::run(python_module(environment, "fact.trace", arguments));
    if (!exit) return exit.error();
    if (!exit->ok() || interrupted() || !status_of(made)) return tracing_failed(*exit);
    if (auto done = move_file(made, *target); !done) return done;
    if (!sources.empty()) return move_file(listed, sources);
    return Ok{};
}

Result<bool> trace_stage(const Environment& environment, const TraceRequest& request,
                         const RunFolder& run) {
    const auto before = fingerprint(environment, request, run);
    if (!before.empty() && run.current("trace", before)) return false;
    if (auto done = trace(environment, request, run.archive(), run.sources()); !done)
        return done.error();
    if (const auto after = fingerprint(environment, request, run); !after.empty())
        if (auto done = run.stamp("trace", after); !done) return done.error();
    return true;
}

}  // namespace fact::driver

#include "driver/trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/hash.h"

extern char** environ;

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

constexpr int kBadInput = 2;  // fact.trace's exit code for a mistake of the user's

bool is_factory(const std::string& source) {
    std::error_code ignored;
    return source.find(':') != std::string::npos && !fs::exists(source, ignored);
}

// What the tracer wrote to standard error, as an Error.
Error tracing_failed(const Exit& exit) {
    if (interrupted()) return {"interrupted", {}};
    if (exit.signal)
        return {fmt::format("Python was ended by signal {} while tracing", exit.signal), exit.err};
    auto text = exit.err;
    text.erase(text.find_last_not_of(" \n") + 1);
    // Anything before the message is noise of the user's own program.
    if (const auto at = text.rfind("error: "); at != std::string::npos && exit.code == kBadInput)
        text.erase(0, at + std::string_view("error: ").size());
    if (text.empty()) text = fmt::format("tracing failed with exit code {}", exit.code);
    return {text, {}, exit.code == kBadInput};
}

Result<> move_file(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) return Error{fmt::format("cannot write {}: {}", to.string(), error.message()), {}};
    return Ok{};
}

// Variables of the environment that the source mentions: they may decide what it builds.
std::string mentioned_variables(const std::string& source) {
    std::string out;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text = *entry;
        const auto name = text.substr(0, text.find('='));
        if (name.size() > 3 && source.find(name) != std::string::npos)
            out += std::string(text) + "\n";
    }
    return out;
}

// Everything the archive follows from, or "" when that is not known (or has changed).
std::string fingerprint(const Environment& environment, const TraceRequest& request,
                        const RunFolder& run) {
    const auto listing = read_file(run.sources());
    if (!listing) return {};
    auto out = fmt::format("{}\n{}\n{}\n{}\n{}\n", request.source, request.dtype, request.device,
                           environment.python, environment.gpu ? environment.gpu->name : "");
    try {
        const auto json = nlohmann::json::parse(*listing);
        for (const auto& [file, digest] : json.at("files").items()) {
            const auto text = read_file(file);
            if (!text || sha256_hex(*text) != digest.get<std::string>()) return {};
            out += file + " " + digest.get<std::string>() + "\n" + mentioned_variables(*text);
        }
    } catch (const nlohmann::json::exception&) {
        return {};
    }
    return out;
}

}  // namespace

Result<> check_source(const std::string& source) {
    std::error_code ignored;
    if (is_factory(source)) return Ok{};
    if (!fs::exists(source, ignored))
        return Error{source + ": no such file",
                     "give a Python file with Model, get_inputs() and get_init_inputs(), or "
                     "package.module:factory",
                     true};
    if (fs::is_directory(source, ignored) || fs::path(source).extension() != ".py")
        return Error{source + ": not a Python file (*.py)", {}, true};
    return Ok{};
}

Result<> trace(const Environment& environment, const TraceRequest& request, const fs::path& archive,
               const fs::path& sources) {
    if (auto fine = check_source(request.source); !fine) return fine;
    const auto folder = fs::absolute(archive).parent_path();
    if (auto fine = ensure_writable_folder(folder); !fine) return fine;
    // Ours, so that nothing stays behind when the child is killed.
    const TemporaryFolder work(folder, ".trace");
    const auto made = work.path() / archive.filename(), listed = work.path() / "sources.json";
    std::vector<std::string> arguments{request.source,  "-o",       made.string(), "--sources",
                                       listed.string(), "--device", request.device};
    if (!request.dtype.empty()) arguments.insert(arguments.end(), {"--dtype", request.dtype});
    const auto exit = fact::run(python_module(environment, "fact.trace", arguments));
    if (!exit) return exit.error();
    if (!exit->ok() || interrupted()) return tracing_failed(*exit);
    if (auto done = move_file(made, archive); !done) return done;
    if (!sources.empty()) return move_file(listed, sources);
    return Ok{};
}

Result<bool> trace_stage(const Environment& environment, const TraceRequest& request,
                         const RunFolder& run) {
    std::error_code ignored;
    const auto before = fingerprint(environment, request, run);
    if (!before.empty() && fs::exists(run.archive(), ignored) && run.current("trace", before))
        return false;
    if (auto done = trace(environment, request, run.archive(), run.sources()); !done)
        return done.error();
    if (const auto after = fingerprint(environment, request, run); !after.empty())
        if (auto done = run.stamp("trace", after); !done) return done.error();
    return true;
}

}  // namespace fact::driver

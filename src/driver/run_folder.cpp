#include "driver/run_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/hash.h"
#include "support/json_fields.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson to_json(const Settings& s) {
    return {{"source", s.source},     {"dtype", s.dtype},
            {"arch", s.arch},         {"allow_tf32", s.allow_tf32},
            {"training", s.training}, {"without_weights", s.without_weights}};
}

fs::path stamp_file(const fs::path& folder, const std::string& stage) {
    return folder / "stamps" / stage;
}

OrderedJson to_json(const Asked& a) {
    return {{"folder", a.folder},
            {"output", a.output},
            {"effort", a.effort.candidates},
            {"jobs", a.jobs},
            {"also", a.also},
            {"bench", a.bench},
            {"registry", a.registry},
            {"rules", a.rules},
            {"shipped_rules", a.shipped_rules},
            {"budget_s", a.effort.budget_s},
            {"stop_early", a.effort.stop_early}};
}

// Passes run.json to `read`; an Error if it is damaged. Does nothing if there is none.
Result<> reading(const fs::path& folder, auto&& read) {
    std::error_code ignored;
    if (!fs::exists(folder / "run.json", ignored)) return Ok{};
    const auto text = read_file(folder / "run.json");
    if (!text) return text.error();
    auto done = decoding<Ok>((folder / "run.json").string(), "remove that file", [&] {
        read(parse_json(*text));
        return Ok{};
    });
    if (!done) return blame_input(done.error());
    return done;
}

}  // namespace

Result<> RunFolder::check_ours() const {
    std::error_code ignored;
    bool has_files = false;
    for (const auto& entry : fs::directory_iterator(folder_, ignored))
        has_files = has_files || entry.path().filename() != ".lock";
    bool is_run = false;
    auto done = reading(folder_, [&](const nlohmann::json& json) {
        is_run = json.is_object() && json.contains("source") && json.contains("arch");
    });
    if (!has_files || (done && is_run)) return Ok{};
    return Error{folder_.string() + " holds files and is not a run folder",
                 "choose another --run-dir, one that is empty or not there yet", true};
}

Result<FileLock> RunFolder::lock() const {
    std::error_code ignored;
    if (!fs::is_directory(folder_, ignored))
        return Error{folder_.string() + " is not a run folder: there is no such folder",
                     "`fact runs list` lists the runs of the current folder", true};
    return FileLock::take(folder_ / ".lock", folder_.string());
}

Result<Settings> RunFolder::settings() const {
    Settings settings;
    auto done = reading(folder_, [&](const nlohmann::json& json) {
        settings.source = get_text(json, "source", "");
        settings.dtype = get_text(json, "dtype", "");
        settings.arch = get_text(json, "arch", settings.arch);
        settings.allow_tf32 = get_bool(json, "allow_tf32", false);
        settings.training = get_bool(json, "training", false);
        settings.without_weights = get_bool(json, "without_weights", false);
    });
    if (!done) return done.error();
    return settings;
}

Result<std::optional<Asked>> RunFolder::asked() const {
    std::optional<Asked> asked;
    auto done = reading(folder_, [&](const nlohmann::json& json) {
        const auto* optimize = json.is_object() ? optional_field(json, "optimize") : nullptr;
        if (!optimize) return;
        const auto& o = *optimize;
        asked = Asked{get_text(o, "folder", ""),
                      get_text(o, "output", ""),
                      {get_int(o, "effort", 0), get_finite(o, "budget_s", 0),
                       get_bool(o, "stop_early", true)},
                      get_int(o, "jobs", 0),
                      {},
                      get_bool(o, "bench", true),
                      get_bool(o, "registry", true),
                      get_bool(o, "rules", true),
                      get_bool(o, "shipped_rules", true)};
        if (optional_field(o, "also")) asked->also = get_texts(o, "also");
    });
    if (!done) return done.error();
    return asked;
}

Result<> RunFolder::remember(const Settings& settings, const std::optional<Asked>& asked) const {
    OrderedJson json = to_json(settings);
    if (asked) json["optimize"] = to_json(*asked);
    return write_file_atomic(folder_ / "run.json", dump_json(json));
}

bool RunFolder::current(const std::string& stage, const std::string& inputs) const {
    const auto text = read_file(stamp_file(folder_, stage));
    return text && *text == sha256_hex(inputs) + "\n";
}

Result<> RunFolder::stamp(const std::string& stage, const std::string& inputs) const {
    return write_file_atomic(stamp_file(folder_, stage), sha256_hex(inputs) + "\n");
}

fs::path default_run_folder(const Settings& settings) {
    const bool factory = settings.source.find(':') != std::string::npos;
    auto stem = factory ? settings.source.substr(settings.source.rfind(':') + 1)
                        : fs::path(settings.source).stem().string();
    for (auto& c : stem)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '-';
    auto identity = settings;
    if (!factory) identity.source = fs::absolute(settings.source).lexically_normal().string();
    return fs::path(".fact") / "runs" /
           fmt::format("{}-{}", stem, short_hash(dump_json(to_json(identity))).substr(0, 8));
}

}  // namespace fact::driver

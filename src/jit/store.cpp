#include "jit/store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "jit/compile_key.h"
#include "jit/compile_log.h"
#include "jit/headers.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/json_fields.h"

namespace fact::jit {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Error unusable(const fs::path& entry, std::string_view why) {
    return {fmt::format("{}: {}", entry.string(), why), ""};
}

}  // namespace

Result<Artifact> find_entry(const fs::path& store, const std::string& key,
                            const Toolchain& toolchain) {
    const fs::path entry = store / key;
    auto text = read_file(entry / "meta.json");
    if (!text) return text.error();
    auto log = read_file(entry / "log.txt");
    if (!log) return log.error();
    Artifact artifact;
    artifact.cubin = entry / "kernel.cubin";
    artifact.key = key;
    artifact.cached = true;
    try {
        const json meta = parse_json(*text);
        const auto cubin = read_file(artifact.cubin);
        if (!cubin) return cubin.error();
        const json& compiled = field(meta, "cubin");
        artifact.sha256 = get_text(compiled, "sha256");
        if (std::cmp_not_equal(cubin->size(), get_int(compiled, "size")) ||
            sha256_hex(*cubin) != artifact.sha256)
            return unusable(entry, "its cubin has changed since it was compiled");
        artifact.headers = get_text(meta, "headers");
        if (!headers_unchanged(artifact.headers, toolchain, store))
            return unusable(entry, "a header that the compiler read has changed");
        artifact.seconds = get_finite(meta, "seconds");
        artifact.registers = get_int<int>(meta, "registers");
        artifact.spill_bytes = get_int<int>(meta, "spill_bytes");
    } catch (const SchemaError& error) {
        return unusable(entry, error.what());
    }
    artifact.fitness = resources_in(*log).fitness();
    artifact.log = std::move(*log);
    return artifact;
}

Result<Artifact> publish(const fs::path& folder, const fs::path& store, const std::string& key,
                         const Unit& unit, const Toolchain& toolchain, const std::string& headers,
                         double seconds) {
    const auto cubin = read_file(folder / "kernel.cubin");
    if (!cubin) return cubin.error();
    const auto log = read_file(folder / "log.txt");
    if (!log) return log.error();
    const Resources resources = resources_in(*log);
    const json meta = {{"name", unit.name},
                       {"arch", unit.arch},
                       {"toolchain", toolchain.version},
                       {"flags", code_flags(unit.arch)},
                       {"headers", headers},
                       {"cubin", {{"size", cubin->size()}, {"sha256", sha256_hex(*cubin)}}},
                       {"seconds", seconds},
                       {"registers", resources.registers},
                       {"spill_bytes", resources.spill_bytes}};
    if (auto written = write_file_atomic(folder / "meta.json", meta.dump(2) + "\n"); !written)
        return written.error();
    std::error_code code;
    fs::rename(folder, store / key, code);
    if (code) {
        if (auto theirs = find_entry(store, key, toolchain)) return theirs;
        // The unusable entry is moved into our temporary folder, and is removed with it.
        std::error_code ignored;
        fs::rename(store / key, folder.parent_path() / "replaced", ignored);
        fs::rename(folder, store / key, code);
    }
    if (code) return file_error("write", store / key, code.value());
    auto artifact = find_entry(store, key, toolchain);
    if (artifact) artifact->cached = false;
    return artifact;
}

}  // namespace fact::jit

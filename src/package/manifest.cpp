#include "package/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/hash.h"
#include "support/json_fields.h"

namespace fact::package {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;  // of manifest.json

bool is_plain_part(std::string_view part) {
    return !part.empty() && part != "." && part != ".." &&
           std::ranges::none_of(part, [](unsigned char c) { return c < ' ' || c == '\\'; });
}

// The path has to be relative, stay in the package and be in normal form.
void check_path(const std::string& path) {
    bool fine = path != kManifestFile;
    for (std::size_t begin = 0, end = 0; fine && begin <= path.size(); begin = end + 1) {
        end = std::min(path.find('/', begin), path.size());
        fine = is_plain_part(std::string_view(path).substr(begin, end - begin));
    }
    if (!fine)
        throw SchemaError(fmt::format("'{}' is not the path of a file in the package", path));
}

File file_from(const json& value) {
    const auto size = get_int(value, "size");
    const auto& sha256 = get_text(value, "sha256");
    const bool hex =
        sha256.size() == 64 && sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (size < 0 || !hex)
        throw SchemaError("its size is negative, or its SHA-256 is not 64 hex digits");
    return {static_cast<std::uint64_t>(size), sha256};
}

void check_version(const json& all) {
    // Format 1 had no kind.
    const auto* kind = optional_field(all, "kind");
    const auto* format = optional_field(all, "format");
    if (!format || !format->is_number_integer() || (kind && *kind != kKind) ||
        (!kind && *format == kFormat))
        throw SchemaError("it is not a manifest of a package");
    if (*format != kFormat)
        throw SchemaError(fmt::format("written by another version of FACT (format {}, not {})",
                                      format->dump(), kFormat));
}

// Nothing of this is needed to run the package: what has the wrong type is as good as missing.
Origin origin_from(const json& all) {
    const auto text = [&](const char* name) {
        const json* value = optional_field(all, name);
        return value && value->is_string() ? value->get<std::string>() : std::string();
    };
    const auto is_true = [&](const char* name) {
        const json* value = optional_field(all, name);
        return value && *value == true;
    };
    return {text("source"), text("asked_dtype"), is_true("allow_tf32"), is_true("training")};
}

Manifest read(const json& all) {
    check_version(all);
    Manifest out;
    for (const auto& [path, file] : to_object(field(all, "files")).items()) {
        check_path(path);
        out.files.emplace(path, at(path, [&] { return file_from(file); }));
    }
    out.calls = get_texts(all, "calls");
    out.namespaces = get_texts(all, "namespaces");
    out.classes = get_texts(all, "classes");
    out.origin = origin_from(all);
    if (const json* original = optional_field(all, "original"))
        out.without_weights = get_bool(*original, "without_weights", false);
    return out;
}

}  // namespace

Result<Manifest> manifest_from_json(std::string_view text) {
    try {
        Manifest manifest = read(parse_json(text));
        manifest.identity = sha256_hex(text);
        return manifest;
    } catch (const SchemaError& error) {
        return Error{error.what(), {}};
    }
}

Result<Manifest> read_manifest(const fs::path& folder) {
    const auto path = folder / kManifestFile;
    const auto text = read_file(path, kMaxBytes);
    if (!text)
        return Error{fmt::format("{} is not a package: {}", folder.string(), text.error().message),
                     "give the folder that fact optimize or fact compose wrote"};
    auto manifest = manifest_from_json(*text);
    if (!manifest)
        return Error{
            fmt::format("{} is damaged, or not the manifest of a package: {}", path.string(),
                        manifest.error().message),
            "write the package again with `fact optimize`, or `fact compose` on its run folder"};
    return manifest;
}

}  // namespace fact::package

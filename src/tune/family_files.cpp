#include "tune/family_files.h"

#include <fmt/format.h>

#include <array>

#include "jit/headers.h"
#include "support/files.h"
#include "support/hash.h"

namespace fact::tune {

namespace {

namespace fs = std::filesystem;

constexpr std::array kFiles{"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"};

}  // namespace

std::string damage(const Realization& r) {
    for (const char* file : kFiles) {
        const auto verified = r.files.find(file);
        const auto content = read_file(r.folder / file);
        if (!content) return content.error().message;
        if (verified == r.files.end() || sha256_hex(*content) != verified->second)
            return fmt::format("{} has changed since it was verified", (r.folder / file).string());
    }
    return "";
}

std::optional<Realization> earlier_result(const fs::path& folder, const RealizeOptions& options) {
    auto text = read_file(folder / "result.json");
    if (!text) return std::nullopt;
    auto earlier = realization_from_json(*text);
    if (!earlier || !earlier->realized) return std::nullopt;
    earlier->folder = folder;
    if (!damage(*earlier).empty() ||
        !jit::headers_unchanged(earlier->headers, options.toolchain, fs::absolute(options.store)))
        return std::nullopt;
    earlier->resumed = true;
    return *earlier;
}

Result<> write_family_files(Realization& r, const std::optional<Winner>& winner) {
    r.files.clear();
    if (winner) {
        auto text = read_file(r.folder / "kernel.fact");
        if (!text) return text.error();
        auto cubin = read_file(winner->artifact.cubin);
        if (!cubin) return cubin.error();
        if (sha256_hex(*cubin) != winner->artifact.sha256)
            return Error{
                fmt::format("{} was changed while it was in use", winner->artifact.cubin.string()),
                "Let no other program write to that folder, and run the same command again."};
        const std::string record = to_json(winner->candidate.record);
        r.headers = winner->artifact.headers;
        r.files["kernel.fact"] = sha256_hex(*text);
        for (const auto& [name, content] :
             {std::pair<const char*, std::string_view>("kernel.cu", winner->candidate.source),
              {"kernel.cubin", *cubin},
              {"record.json", record}}) {
            r.files[name] = sha256_hex(content);
            if (auto written = write_file_atomic(r.folder / name, content); !written)
                return written;
        }
    }
    return write_file_atomic(r.folder / "result.json", to_json(r));
}

}  // namespace fact::tune

#include "tools/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/compile_key.h"
#include "jit/source_map.h"
#include "lower/pipeline/lower.h"
#include "support/files.h"

namespace fact::tools {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kDeadline(600);  // for compiling one kernel

std::string as_comment(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        out += fmt::format("// {}\n", text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

// The error with every place that the compiler's log names; the log has more than `error` quotes.
Error explained(Error error, const KernelSource& source, const jit::Unit& unit,
                const jit::Toolchain& toolchain, const fs::path& store) {
    const auto log = read_file(store / "failed" / jit::compile_key(unit, toolchain) / "log.txt");
    if (!log) return error;
    const std::string report =
        jit::report_errors(*log, unit.source, {source.name, source.text}, "kernel.cu");
    if (!report.empty()) error.message = fmt::format("{} does not compile:\n{}", unit.name, report);
    return error;
}

}  // namespace

Result<Emitted> emit(const ir::Kernel& kernel, const Choice& choice, std::string_view arch,
                     const Extents& extents, std::string_view dump_after) {
    if (auto fine = check_arch(arch); !fine) return fine.error();
    lower::LowerOptions options;
    options.arch = arch;
    options.extents = extents.of;
    options.assumed = extents.assumed;
    options.tma = choice.tma;
    options.schedule = schedule_lookup(choice.schedules);
    std::string dumped;
    options.after = [&](std::string_view pass, const std::string& dump) {
        if (pass == dump_after) dumped = dump;
    };
    auto lowered = lower::lower(kernel, options);
    // A dump is of use even if a later pass failed.
    if (!dumped.empty()) return Emitted{dsl::to_text(kernel), std::move(dumped), {}};
    if (!lowered) return blame_input(lowered.error());
    const std::string text = dsl::to_text(kernel);
    return Emitted{text, as_comment(text) + lowered->source, std::move(lowered->record)};
}

namespace {

constexpr const char* kRecord = "record.json";
constexpr const char* kFiles[] = {"kernel.fact", "kernel.cu", "kernel.cubin", kRecord};

// Existing files are replaced only if a kernel was built in the folder before.
Result<> check_replaceable(const fs::path& folder) {
    const auto record = read_file(folder / kRecord);
    if (record && launch_record_from_json(*record)) return Ok{};
    std::error_code ignored;
    for (const char* name : kFiles)
        if (fs::exists(folder / name, ignored))
            return Error{fmt::format("{} exists, and no kernel was built in {}",
                                     (folder / name).string(), folder.string()),
                         "choose another folder with -o, or remove that file yourself"};
    return Ok{};
}

}  // namespace

Result<jit::Artifact> build(const KernelSource& source, const Emitted& emitted,
                            const jit::Toolchain& toolchain, const fs::path& store,
                            const fs::path& folder) {
    if (auto fine = ensure_writable_folder(folder); !fine) return blame_input(fine.error());
    if (auto fine = check_replaceable(folder); !fine) return blame_input(fine.error());
    const jit::Unit unit{emitted.record.kernel, emitted.source, emitted.record.arch};
    auto artifact = jit::compile(unit, toolchain, store, kDeadline);
    if (!artifact) return explained(artifact.error(), source, unit, toolchain, store);
    const auto cubin = read_file(artifact->cubin);
    if (!cubin) return cubin.error();
    // The record is written last: if it is there, so are the others.
    const std::string contents[] = {emitted.text, emitted.source, *cubin, to_json(emitted.record)};
    for (std::size_t i = 0; i < std::size(kFiles); ++i)
        if (auto written = write_file_atomic(folder / kFiles[i], contents[i]); !written)
            return written.error();
    return artifact;
}

}  // namespace fact::tools

#include "driver/ceilings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/diagnostics.h"
#include "support/files.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxBytes = 1 << 20;  // of a calibration file

std::string table_source(const GpuSpec& gpu) {
    return gpu.name == "h200" ? "from the table, measured on an H200"
                              : "from the table, scaled from what an H200 reaches";
}

// The row with the calibrated ceilings, or why they cannot be used.
Result<Ceilings> calibrated(const fs::path& file, const GpuSpec& row) {
    const auto text = read_file(file, kMaxBytes);
    if (!text) return text.error();
    const auto calibration = calibration_from_json(*text);
    if (!calibration) return calibration.error();
    if (calibration->gpu != row.name)
        return Error{fmt::format("it is for {}", calibration->gpu), ""};
    auto gpu = with_ceilings(row, *calibration);
    if (!gpu) return gpu.error();
    return Ceilings{*gpu, fmt::format("calibrated {} on {}{}", calibration->date.substr(0, 10),
                                      calibration->device, calibration->quick ? ", quickly" : "")};
}

}  // namespace

fs::path calibration_file(const Environment& environment, std::string_view gpu) {
    return environment.store / "calibration" / fmt::format("{}.json", gpu);
}

Result<GpuSpec> known_gpu(std::string_view name) {
    if (const auto row = find_gpu(name)) return *row;
    std::vector<std::string> names;
    for (const GpuSpec& row : gpu_table()) names.emplace_back(row.name);
    const auto near = nearest(std::string(name), names);
    return Error{fmt::format("there is no GPU '{}' in the table", name),
                 fmt::format("{}it has {}", near.empty() ? "" : "did you mean " + near + "? ",
                             fmt::join(names, ", ")),
                 true};
}

Result<Ceilings> find_ceilings(const Environment& environment, const std::string& gpu,
                               const std::string& arch) {
    const auto row = known_gpu(gpu.empty() ? table_name(environment, arch) : gpu);
    if (!row) return row.error();
    const auto file = calibration_file(environment, row->name);
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return Ceilings{*row, table_source(*row)};
    auto found = calibrated(file, *row);
    if (found) return found;
    return Ceilings{*row, fmt::format("{}; {} was ignored: {}", table_source(*row), file.string(),
                                      found.error().message)};
}

match::Options match_options(const Ceilings& ceilings, const std::string& arch, Tf32 tf32) {
    return {arch, std::string(ceilings.gpu.name), tf32, ceilings.gpu};
}

}  // namespace fact::driver

#include "target/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/json_fields.h"

namespace fact {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// A GPU may run at a clock a little above the highest one that the table assumes.
constexpr double kPeakTolerance = 1.01;

ordered_json to_parts(const Ceiling& c) {
    return {{"name", c.name},
            {"unit", c.unit},
            {"value", c.value},
            {"low", c.low},
            {"high", c.high},
            {"runs", c.runs},
            {"sustained", c.sustained},
            {"sustained_runs", c.sustained_runs},
            {"how", c.how}};
}

Ceiling read_ceiling(const json& parts) {
    Ceiling c;
    c.name = get_text(parts, "name");
    c.unit = get_text(parts, "unit");
    c.value = get_finite(parts, "value");
    c.low = get_finite(parts, "low");
    c.high = get_finite(parts, "high");
    c.runs = get_int<int>(parts, "runs");
    c.sustained = get_finite(parts, "sustained");
    c.sustained_runs = get_int<int>(parts, "sustained_runs");
    c.how = get_text(parts, "how");
    return c;
}

// One ceiling of a GPU's row: the best of the measurements in `sources`, at most the peak.
struct Slot {
    double GpuSpec::* ceiling;
    double GpuSpec::* peak;
    struct Source {
        std::string_view name;
        double factor = 1;  // the ceiling is this many times the measured value
    };
    std::vector<Source> sources;
};

const std::vector<Slot>& slots() {
    static const std::vector<Slot> list{
        {&GpuSpec::calibrated_memory_tbs,
         &GpuSpec::memory_tbs,
         {{"memory_read"}, {"memory_write"}, {"memory_copy"}}},
        {&GpuSpec::calibrated_l2_tbs, &GpuSpec::l2_tbs, {{"l2_read"}}},
        {&GpuSpec::calibrated_bf16_tflops, &GpuSpec::bf16_tflops, {{"bf16"}, {"f16"}}},
        {&GpuSpec::calibrated_tf32_tflops, &GpuSpec::tf32_tflops, {{"bf16", 0.5}}},
        {&GpuSpec::calibrated_rounded_tflops, &GpuSpec::rounded_tflops, {{"tf32"}}},
        {&GpuSpec::calibrated_fp32_tflops, &GpuSpec::fp32_tflops, {{"fp32"}}},
        {&GpuSpec::calibrated_split_tflops, &GpuSpec::split_tflops, {{"f32_split"}}},
    };
    return list;
}

}  // namespace

double ceiling(const Calibration& calibration, std::string_view name) {
    const auto found = std::ranges::find(calibration.ceilings, name, &Ceiling::name);
    return found == calibration.ceilings.end() ? 0 : found->value;
}

std::string to_json(const Calibration& c) {
    ordered_json parts{{"format", "fact-calibration-1"},
                       {"gpu", c.gpu},
                       {"device", c.device},
                       {"date", c.date},
                       {"driver", c.driver},
                       {"toolchain", c.toolchain},
                       {"quick", c.quick},
                       {"ceilings", ordered_json::array()}};
    for (const Ceiling& item : c.ceilings) parts["ceilings"].push_back(to_parts(item));
    return parts.dump(2) + "\n";
}

Result<Calibration> calibration_from_json(std::string_view text) {
    const std::string hint = "measure again with `fact calibrate`";
    return decoding<Calibration>("it is not a calibration", hint, [&]() -> Result<Calibration> {
        const json parts = parse_json(text);
        if (field(parts, "format") != "fact-calibration-1")
            return Error{"its format is not fact-calibration-1", hint};
        Calibration c;
        c.gpu = get_text(parts, "gpu");
        c.device = get_text(parts, "device");
        c.date = get_text(parts, "date");
        c.driver = get_text(parts, "driver");
        c.toolchain = get_text(parts, "toolchain");
        c.quick = get_bool(parts, "quick");
        for (const json& item : to_array(field(parts, "ceilings")))
            c.ceilings.push_back(read_ceiling(item));
        return c;
    });
}

Result<GpuSpec> with_ceilings(GpuSpec spec, const Calibration& calibration) {
    for (const Slot& slot : slots()) {
        const double peak = spec.*slot.peak;
        double best = 0;
        for (const auto& source : slot.sources) {
            const double value = ceiling(calibration, source.name) * source.factor;
            if (!std::isfinite(value) || value < 0 || value > peak * kPeakTolerance)
                return Error{fmt::format("{} was measured as {:.4g}, but the data sheet's peak is "
                                         "{:.4g}",
                                         source.name, value / source.factor, peak / source.factor),
                             "measure again with `fact calibrate`; if that does not help, FACT's "
                             "data of this GPU are wrong: please report it"};
            best = std::max(best, value);
        }
        if (best <= 0)
            return Error{fmt::format("it has no measurement of {}", slot.sources.front().name),
                         "measure again with `fact calibrate`"};
        spec.*slot.ceiling = std::min(best, peak);
    }
    spec.launch_us = ceiling(calibration, "launch");
    if (!std::isfinite(spec.launch_us) || spec.launch_us <= 0)
        return Error{"it has no measurement of launch", "measure again with `fact calibrate`"};
    return spec;
}

}  // namespace fact

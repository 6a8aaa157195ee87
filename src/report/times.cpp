#include "report/times.h"

#include <fmt/format.h>

#include "support/table.h"

namespace fact::report {

std::string time_text(const Times& times) {
    return times.runs ? duration(times.median_us) : "-";
}

std::string speedup(const Times& fused, const Times& baseline) {
    if (!fused.runs || !baseline.runs || fused.median_us <= 0) return "-";
    if (&fused == &baseline) return "1";
    const auto over = [](double a, double b) { return b > 0 ? a / b : 0; };
    return fmt::format("{:.2f}x ({:.2f} to {:.2f})", over(baseline.median_us, fused.median_us),
                       over(baseline.low_us, fused.high_us), over(baseline.high_us, fused.low_us));
}

nlohmann::ordered_json to_json(const Times& t) {
    if (!t.runs) return nullptr;
    return {
        {"median_us", t.median_us}, {"p10_us", t.low_us}, {"p90_us", t.high_us}, {"runs", t.runs}};
}

}  // namespace fact::report

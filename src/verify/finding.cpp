#include "verify/finding.h"

#include <fmt/format.h>

#include <array>

namespace fact::verify {

namespace {

struct FindingName {
    Finding finding;
    std::string_view name;
};
// In the order of the enumeration.
constexpr std::array<FindingName, 13> kFindings{{
    {Finding::none, ""},
    {Finding::wrong_result, "wrong result"},
    {Finding::unwritten, "left its output unwritten"},
    {Finding::outside, "wrote outside its buffers"},
    {Finding::changed_inputs, "changed its inputs"},
    {Finding::depends_on_output, "depends on what was in its output"},
    {Finding::depends_on_workspace, "depends on its workspace"},
    {Finding::not_deterministic, "not deterministic"},
    {Finding::remembers, "remembers earlier inputs"},
    {Finding::other_sizes, "wrong at other sizes"},
    {Finding::idle_when_timed, "did no work while timed"},
    {Finding::faster_than_light, "faster than light"},
    {Finding::too_much_memory, "used too much memory"},
}};

}  // namespace

std::string_view name(Finding finding) {
    return kFindings[static_cast<std::size_t>(finding)].name;
}

std::optional<Finding> finding_from_name(std::string_view name) {
    for (const auto& row : kFindings)
        if (row.name == name) return row.finding;
    return std::nullopt;
}

std::string text(const Verdict& verdict) {
    if (verdict.why.empty()) return std::string(name(verdict.finding));
    return fmt::format("{}: {}", name(verdict.finding), verdict.why);
}

}  // namespace fact::verify

#include "verify/finding.h"

#include <fmt/format.h>

#include "support/enum_table.h"

namespace fact::verify {

namespace {

struct FindingName {
    Finding finding;
    std::string_view name;
};
constexpr auto kFindings = table_of<Finding>([](Finding finding) -> std::optional<FindingName> {
    switch (finding) {
        case Finding::none:
            return FindingName{finding, ""};
        case Finding::wrong_result:
            return FindingName{finding, "wrong result"};
        case Finding::unwritten:
            return FindingName{finding, "left its output unwritten"};
        case Finding::wrote_outside:
            return FindingName{finding, "wrote outside its buffers"};
        case Finding::changed_inputs:
            return FindingName{finding, "changed its inputs"};
        case Finding::depends_on_output:
            return FindingName{finding, "depends on what was in its output"};
        case Finding::depends_on_workspace:
            return FindingName{finding, "depends on its workspace"};
        case Finding::not_deterministic:
            return FindingName{finding, "not deterministic"};
        case Finding::remembers_inputs:
            return FindingName{finding, "remembers earlier inputs"};
        case Finding::wrong_at_other_sizes:
            return FindingName{finding, "wrong at other sizes"};
        case Finding::idle_when_timed:
            return FindingName{finding, "did no work while timed"};
        case Finding::faster_than_light:
            return FindingName{finding, "faster than light"};
        case Finding::too_much_memory:
            return FindingName{finding, "used too much memory"};
    }
    return std::nullopt;
});

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

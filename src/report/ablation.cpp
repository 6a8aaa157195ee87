#include "report/ablation.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/table.h"

namespace fact::report {

namespace {

constexpr int kBeforeRuns = 6;  // index of the column "runs": those for replacements go before it

}  // namespace

std::string ablation_table(const Ablation& ablation) {
    const bool replaced = std::ranges::any_of(
        ablation.rows, [](const AblationRow& row) { return row.instead.runs > 0; });
    std::vector<Column> columns{{"ablation"},
                                {"patterns", Align::right},
                                {"alone", Align::right},
                                {"against eager"},
                                {"all but it", Align::right},
                                {"against eager"},
                                {"runs", Align::right},
                                {"in the package"}};
    if (replaced) {
        const std::vector<Column> others{{"others instead", Align::right}, {"against eager"}};
        columns.insert(columns.begin() + kBeforeRuns, others.begin(), others.end());
    }
    Table table(std::move(columns));
    const auto runs = [](const Times& times) {
        return times.runs ? std::to_string(times.runs) : "-";
    };
    const auto add = [&](std::vector<std::string> cells, const Times& instead) {
        if (replaced) {
            const std::vector<std::string> others{
                instead.runs ? time_text(instead) : "",
                instead.runs ? speedup(instead, ablation.eager) : ""};
            cells.insert(cells.begin() + kBeforeRuns, others.begin(), others.end());
        }
        table.row(std::move(cells));
    };
    for (const auto& row : ablation.rows)
        add({row.family, std::to_string(row.patterns), time_text(row.alone),
             speedup(row.alone, ablation.eager), time_text(row.all_but),
             speedup(row.all_but, ablation.eager), runs(row.all_but), row.kept ? "yes" : "no"},
            row.instead);
    add({"all", std::to_string(ablation.patterns), time_text(ablation.all),
         speedup(ablation.all, ablation.eager), "", "", runs(ablation.all), ""},
        {});
    add({"none: eager", "0", time_text(ablation.eager), speedup(ablation.eager, ablation.eager), "",
         "", runs(ablation.eager), ""},
        {});
    return table.text();
}

}  // namespace fact::report

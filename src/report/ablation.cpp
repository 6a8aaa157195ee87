#include "report/ablation.h"

#include <fmt/format.h>

#include "report/table.h"

namespace fact::report {

std::string ablation_table(const Ablation& ablation) {
    Table table({{"ablation"},
                 {"patterns", Align::right},
                 {"alone", Align::right},
                 {"against eager"},
                 {"all but it", Align::right},
                 {"against eager"},
                 {"runs", Align::right},
                 {"in the package"}});
    const auto runs = [](const Times& times) {
        return times.runs ? std::to_string(times.runs) : "-";
    };
    for (const auto& row : ablation.rows)
        table.row({row.family, std::to_string(row.patterns), time_text(row.alone),
                   speedup(row.alone, ablation.eager), time_text(row.all_but),
                   speedup(row.all_but, ablation.eager), runs(row.all_but),
                   row.kept ? "yes" : "no"});
    table.row({"all", std::to_string(ablation.patterns), time_text(ablation.all),
               speedup(ablation.all, ablation.eager), "", "", runs(ablation.all)});
    table.row({"none: eager", "0", time_text(ablation.eager),
               speedup(ablation.eager, ablation.eager), "", "", runs(ablation.eager)});
    return table.text();
}

}  // namespace fact::report

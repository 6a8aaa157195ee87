#include <fmt/format.h>

#include <map>

#include "report/report.h"

namespace fact::report {

std::string reasons(const std::vector<match::LeftAlone>& left_alone, std::size_t most) {
    struct Group {
        const match::LeftAlone* first;
        int count;
    };
    std::vector<Group> groups;
    std::map<std::string, std::size_t> seen;
    for (const auto& item : left_alone) {
        const auto key = item.target + "\n" + item.reason + "\n" + graph::describe(item.where);
        const auto [at, fresh] = seen.try_emplace(key, groups.size());
        if (fresh)
            groups.push_back({&item, 1});
        else
            ++groups[at->second].count;
    }
    std::string out;
    for (std::size_t i = 0; i < groups.size() && i < most; ++i) {
        const auto& item = *groups[i].first;
        const auto where = graph::describe(item.where);
        out += fmt::format("  {}{}{}: {}\n", item.target,
                           groups[i].count > 1 ? fmt::format(" ({} times)", groups[i].count) : "",
                           where.empty() ? "" : " at " + where, item.reason);
    }
    if (groups.size() > most) out += fmt::format("  and {} more\n", groups.size() - most);
    return out;
}

}  // namespace fact::report

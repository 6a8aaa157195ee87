// The reasons why operators were left alone, for the report (declared in report.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/report.h"

namespace fact::report {

namespace {

// "transpose is also used by slice" for "transpose_13 is also used by slice_14", so that the
// reason is the same in every layer.
std::string without_numbers(std::string_view reason) {
    std::string out;
    for (std::size_t i = 0; i < reason.size(); ++i) {
        std::size_t end = i + 1;
        while (end < reason.size() && reason[end] >= '0' && reason[end] <= '9') ++end;
        if (reason[i] == '_' && end > i + 1)
            i = end - 1;
        else
            out += reason[i];
    }
    return out;
}

}  // namespace

std::string reasons(const std::vector<match::LeftAlone>& left_alone, std::size_t most) {
    struct Group {
        const match::LeftAlone* first;
        int count;
    };
    std::vector<Group> groups;
    std::map<std::string, std::size_t> group_of;  // position in `groups`
    for (const auto& item : left_alone) {
        const auto key = item.target + "\n" + without_numbers(item.reason) + "\n" +
                         graph::describe_line(item.where);
        const auto [at, is_new] = group_of.try_emplace(key, groups.size());
        if (is_new)
            groups.push_back({&item, 1});
        else
            ++groups[at->second].count;
    }
    if (groups.size() > most)  // the least informative reason is cut off first
        std::ranges::stable_partition(
            groups, [](const Group& g) { return g.first->reason != match::kNothingToFuseWith; });
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

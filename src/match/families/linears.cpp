// Linears that read the same input as one product, offered beside their separate patterns:
// measuring decides.
#include "match/families/family.h"
#include "match/families/joined.h"
#include "match/linears/siblings.h"

namespace fact::match {

std::optional<Candidate> joined_candidate(const Search& search, std::vector<Region> group,
                                          const Fold* fold) {
    auto pattern = guarded([&] {
        return write_siblings(search.graph, search.facts, group, fold, search.options, search.gpu);
    });
    if (!pattern) return std::nullopt;
    Candidate joined{group.front().anchor.node, {}, std::move(*pattern)};
    for (const Region& region : group)
        joined.nodes.insert(joined.nodes.end(), region.nodes.begin(), region.nodes.end());
    if (fold) joined.nodes.insert(joined.nodes.end(), fold->nodes.begin(), fold->nodes.end());
    joined.regions = std::move(group);
    joined.id_prefix = 'l';
    return joined;
}

namespace {

std::vector<Candidate> find_linears(Search& search) {
    std::vector<Region> linears;
    for (const Candidate& candidate : search.chosen)
        if (candidate.regions.size() == 1) linears.push_back(candidate.regions.front());
    std::vector<Candidate> found;
    for (auto& group : siblings(search.graph, search.facts, linears)) {
        auto joined = joined_candidate(search, group, nullptr);
        if (!joined) {  // bare linears may not divide into heads as the others do
            std::erase_if(group, is_bare_linear);
            if (group.size() > 1) joined = joined_candidate(search, std::move(group), nullptr);
        }
        if (joined) found.push_back(std::move(*joined));
    }
    return found;
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kLinears{'l', Round::second, Anywhere{find_linears}};

}  // namespace fact::match

// A product together with the norm that its rows come from, offered beside the two separate
// patterns: measuring decides.
#include <algorithm>

#include "match/families/joined.h"
#include "match/norms/fold.h"
#include "match/text/write.h"

namespace fact::match {

using graph::NodeId;

namespace {

bool holds_node(const std::vector<NodeId>& nodes, NodeId id) {
    return std::ranges::find(nodes, id) != nodes.end();
}

// Whether the norm's separate pattern computes more than the norm, such as a residual sum, which
// folding the norm would leave to torch.
bool has_larger_pattern(const std::vector<Candidate>& chosen, const Fold& fold) {
    return std::ranges::any_of(chosen, [&](const Candidate& candidate) {
        return candidate.regions.empty() && holds_node(candidate.nodes, fold.norm) &&
               std::ranges::any_of(candidate.nodes,
                                   [&](NodeId id) { return !holds_node(fold.nodes, id); });
    });
}

// The same region with the norm folded into its product.
std::optional<Candidate> folded_candidate(const Search& search, const Candidate& plain,
                                          const Fold& fold) {
    Region region = plain.regions.front();
    if (!fold_into(search.graph, search.facts, fold, region)) return std::nullopt;
    auto pattern = guarded([&] {
        return write_pattern(search.graph, search.facts, region, search.options, search.gpu);
    });
    if (!pattern) return std::nullopt;
    return Candidate{plain.anchor, region.nodes, std::move(*pattern), plain.rowwise};
}

std::vector<Candidate> find_folds(Search& search) {
    std::vector<Candidate> folded;
    for (const Candidate& plain : search.chosen) {
        if (plain.regions.empty()) continue;
        using Found = std::optional<Candidate>;
        auto found = guarded([&]() -> Result<Found> {
            const auto fold = read_fold(search.graph, search.facts, plain.regions.front().anchor);
            if (!fold || has_larger_pattern(search.chosen, *fold)) return Found();
            return plain.regions.size() > 1 ? joined_candidate(search, plain.regions, &*fold)
                                            : folded_candidate(search, plain, *fold);
        });
        if (found && *found) folded.push_back(std::move(**found));
    }
    return folded;
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kFolds{'p', Round::second, Anywhere{find_folds}};

}  // namespace fact::match

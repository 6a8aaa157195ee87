#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "match/families/family.h"
#include "match/leftovers.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;

namespace {

using Give = std::function<void(Candidate)>;

void find_around(const Around& family, Search& search, const Give& give) {
    for (std::size_t i = 0; i < search.graph.nodes.size(); ++i) {
        const auto id = static_cast<NodeId>(i);
        if (search.taken.contains(id)) continue;
        const auto may =
            guarded([&]() -> Result<bool> { return family.begins(search, search.graph[id]); });
        if (may && !*may) continue;
        auto found = may ? guarded([&] { return family.find(search, id); }) : may.error();
        if (found)
            give(std::move(*found));
        else
            family.fail(search, id, found.error().message);
    }
}

void find_anywhere(const Anywhere& family, Search& search, const Give& give) {
    auto found = guarded([&]() -> Result<std::vector<Candidate>> { return family.find(search); });
    if (!found) return;  // what others find is still there
    for (Candidate& candidate : *found) give(std::move(candidate));
}

void find(const Family& family, Search& search, const Give& give) {
    const Give lettered = [&](Candidate candidate) {
        if (!candidate.letter) candidate.letter = family.letter;
        give(std::move(candidate));
    };
    std::visit(overloaded{
                   [&](const Around& how) { find_around(how, search, lettered); },
                   [&](const Anywhere& how) { find_anywhere(how, search, lettered); },
               },
               family.how);
}

// Whatever is around one product has its number, and from the second on a letter: "p03", "p03b".
// Those of other families are counted by themselves.
void number(std::vector<Candidate>& chosen) {
    std::ranges::stable_sort(chosen, {}, &Candidate::anchor);
    std::map<char, int> count;
    std::optional<NodeId> last;
    std::string again;
    for (Candidate& candidate : chosen) {
        std::string suffix;
        if (candidate.letter == 'p') {
            if (last == candidate.anchor) {
                suffix = again.empty() ? "b" : std::string(1, static_cast<char>(again[0] + 1));
                --count['p'];
            }
            last = candidate.anchor;
            again = suffix;
        }
        candidate.pattern.id = fmt::format("{}{:02}{}_{}", candidate.letter,
                                           count[candidate.letter]++, suffix, candidate.pattern.id);
    }
}

}  // namespace

Discovery discover(const Graph& graph, const Options& options,
                   std::span<const graph::Weight> weights) {
    auto gpu = options.ceilings ? options.ceilings : find_gpu(options.gpu);
    if (!gpu) gpu = default_gpu(options.arch);
    if (!gpu) throw InternalError(fmt::format("no GPU is known as {}", options.gpu));
    Search search{graph, options, *gpu, Facts(graph), KnownValues(graph, weights)};
    std::vector<Candidate> contest;
    for (const Family* family : families())
        if (family->turn == Turn::contest)
            find(*family, search, [&](Candidate own) { contest.push_back(std::move(own)); });
    for (Candidate& own : choose(std::move(contest))) search.take(std::move(own));
    for (const Family* family : families())
        if (family->turn == Turn::rest)
            find(*family, search, [&](Candidate own) { search.take(std::move(own)); });
    number(search.chosen);
    Discovery discovery;
    for (Candidate& own : search.chosen) discovery.patterns.push_back(std::move(own.pattern));
    auto left = leftovers(graph, search.facts, {search.taken, search.copied, search.reasons});
    discovery.left_alone = std::move(left.work);
    discovery.idle = std::move(left.idle);
    return discovery;
}

}  // namespace fact::match

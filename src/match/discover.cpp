#include "match/discover.h"

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

using Sink = std::function<void(Candidate)>;

void find_around(const Around& family, Search& search, const Sink& sink) {
    for (std::size_t i = 0; i < search.graph.nodes.size(); ++i) {
        const auto id = static_cast<NodeId>(i);
        if (search.taken.contains(id)) continue;
        const auto begins =
            guarded([&]() -> Result<bool> { return family.begins(search, search.graph[id]); });
        if (begins && !*begins) continue;
        auto found = begins ? guarded([&] { return family.find(search, id); }) : begins.error();
        if (found)
            sink(std::move(*found));
        else
            family.record_reason(search, id, found.error().message);
    }
}

void find_anywhere(const Anywhere& family, Search& search, const Sink& sink) {
    auto found = guarded([&]() -> Result<std::vector<Candidate>> { return family.find(search); });
    if (!found) {  // families of this kind anchor on products, so every product gets the reason
        for (std::size_t i = 0; i < search.graph.nodes.size(); ++i)
            if (is_anchor(search.graph.nodes[i]))
                search.note(static_cast<NodeId>(i), found.error().message);
        return;
    }
    for (Candidate& candidate : *found) sink(std::move(candidate));
}

void find(const Family& family, Search& search, const Sink& sink) {
    const auto runs_once = [&](NodeId id) -> bool { return search.facts.once[graph::index(id)]; };
    const Sink with_prefix = [&](Candidate candidate) {
        if (std::ranges::all_of(candidate.nodes, runs_once)) return;  // nothing is faster than that
        if (!candidate.id_prefix) candidate.id_prefix = family.id_prefix;
        sink(std::move(candidate));
    };
    std::visit(overloaded{
                   [&](const Around& how) { find_around(how, search, with_prefix); },
                   [&](const Anywhere& how) { find_anywhere(how, search, with_prefix); },
               },
               family.how);
}

// Patterns with the prefix p and the same anchor share a number and get the suffixes b, c, ...
// ("p03", "p03b"). Every other prefix is counted separately, without suffixes.
void assign_ids(std::vector<Candidate>& chosen) {
    std::ranges::stable_sort(chosen, {}, &Candidate::anchor);
    std::map<char, int> count;
    std::optional<NodeId> last_anchor;
    char alternative = 'a';
    for (Candidate& candidate : chosen) {
        std::string suffix;
        if (candidate.id_prefix == 'p') {
            alternative =
                static_cast<char>(last_anchor == candidate.anchor ? alternative + 1 : 'a');
            if (alternative != 'a') {
                suffix = alternative;
                --count['p'];
            }
            last_anchor = candidate.anchor;
        }
        candidate.pattern.id =
            fmt::format("{}{:02}{}_{}", candidate.id_prefix, count[candidate.id_prefix]++, suffix,
                        candidate.pattern.id);
    }
}

}  // namespace

Discovery discover(const Graph& graph, const Options& options,
                   std::span<const graph::Weight> weights) {
    auto gpu = options.ceilings ? options.ceilings : find_gpu(options.gpu);
    if (!gpu) gpu = default_gpu(options.arch);
    if (!gpu)
        throw InternalError(fmt::format("no GPU is named {}, and none has the architecture {}",
                                        options.gpu, options.arch));
    Search search{graph, options, *gpu, Facts(graph), KnownValues(graph, weights)};
    std::vector<Candidate> competing;
    for (const Family* family : families())
        if (family->round == Round::first)
            find(*family, search, [&](Candidate found) { competing.push_back(std::move(found)); });
    for (Candidate& best : choose(std::move(competing))) search.take(std::move(best));
    for (const Family* family : families())
        if (family->round == Round::second)
            find(*family, search, [&](Candidate found) { search.take(std::move(found)); });
    assign_ids(search.chosen);
    Discovery discovery;
    for (Candidate& chosen : search.chosen) discovery.patterns.push_back(std::move(chosen.pattern));
    auto left = leftovers(graph, search.facts, {search.taken, search.copied, search.reasons});
    discovery.left_alone = std::move(left.work);
    discovery.idle = std::move(left.idle);
    return discovery;
}

}  // namespace fact::match

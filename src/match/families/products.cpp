// A product with the operators after it that its kernel can absorb, and with those that compute
// only its side operands.
#include <algorithm>
#include <set>

#include "match/families/family.h"
#include "match/regions/packed.h"
#include "match/text/write.h"

namespace fact::match {

using graph::NodeId;

namespace {

// The growth of each product, and of each linear that is cut in two also as two products.
std::vector<Growth> growths_of(Search& search) {
    std::vector<Growth> growths;
    for (std::size_t i = 0; i < search.graph.nodes.size(); ++i) {
        const auto id = static_cast<NodeId>(i);
        if (!is_anchor(search.graph[id])) continue;
        const auto grown = guarded([&]() -> Result<> {
            auto anchor = read_anchor(search.graph, id);
            if (!anchor) return anchor.error();
            growths.push_back(grow(search.graph, search.facts, *anchor));
            if (auto packed = read_packed(search.graph, search.facts, *anchor))
                growths.push_back(grow(search.graph, search.facts, std::move(*packed)));
            return Ok{};
        });
        if (!grown) search.replace_reason(id, grown.error().message);
    }
    return growths;
}

// Adds the region to the candidates if a text can be written for it; returns whether it could.
bool offer(Search& search, const Region& region, std::vector<Candidate>& found) {
    auto pattern = guarded([&] {
        return write_pattern(search.graph, search.facts, region, search.options, search.gpu);
    });
    if (!pattern) {
        search.note(region.nodes.back(), pattern.error().message);
        return false;
    }
    const bool rowwise = has_rowwise(search.graph, region);
    found.push_back(
        {region.anchor.node, region.nodes, std::move(*pattern), rowwise, false, 0, {region}});
    return true;
}

// Whether the region takes updates of buffers along.
bool takes_updates(const Search& search, const Region& region) {
    return std::any_of(region.outputs.begin() + 1, region.outputs.end(), [&](graph::ValueId value) {
        return search.facts.updates.contains(*search.graph[value].producer);
    });
}

Result<> offer_regions(Search& search, Growth& growth, std::vector<Candidate>& found) {
    std::set<graph::ValueId> offered;     // the first results of those without updates
    std::set<std::vector<NodeId>> tried;  // with fewer extras it may be the same region
    for (const Region& region :
         regions_with_and_without_updates(search.graph, search.facts, growth))
        if (tried.insert(region.nodes).second && offer(search, region, found) &&
            !takes_updates(search, region))
            offered.insert(region.outputs.front());
    // Where no text can be written with the producers of side operands.
    for (const Region& region : regions(search.graph, search.facts, growth, Extras::none))
        if (!offered.contains(region.outputs.front()) && tried.insert(region.nodes).second)
            offer(search, region, found);
    for (const auto& [node, reason] : growth.stops) search.note(node, reason);
    return Ok{};
}

std::vector<Candidate> find_products(Search& search) {
    // All products grow before any text is written: an operator that one product may absorb is
    // never taken by another one as the producer of a side operand.
    auto growths = growths_of(search);
    std::vector<Candidate> found;
    for (auto& growth : growths)
        if (auto done = guarded([&] { return offer_regions(search, growth, found); }); !done)
            search.note(growth.anchor.node, done.error().message);
    return found;
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kProducts{'p', Round::first, Anywhere{find_products}};

}  // namespace fact::match

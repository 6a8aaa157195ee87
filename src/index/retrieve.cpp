#include "index/retrieve.h"

#include <algorithm>
#include <set>

namespace fact::index {

namespace {

// Added to the distance for each example of the same structure that was taken before, since another
// structure is more helpful. It is about as much as one activation function more or less.
constexpr double kRepetition = 2;

}  // namespace

std::vector<Found> nearest(const std::vector<Entry>& entries, const Features& wanted,
                           std::size_t most) {
    std::vector<Found> left, taken;
    for (const Entry& entry : entries) left.push_back({&entry, distance(entry.features, wanted)});
    std::multiset<std::string> structures;
    while (taken.size() < most && !left.empty()) {
        const auto rank = [&](const Found& found) {
            const auto repeated = structures.count(structure(found.entry->features));
            return std::pair(found.distance + kRepetition * static_cast<double>(repeated),
                             found.entry->example.name);
        };
        const auto best = std::ranges::min_element(left, {}, rank);
        structures.insert(structure(best->entry->features));
        taken.push_back(*best);
        left.erase(best);
    }
    return taken;
}

}  // namespace fact::index

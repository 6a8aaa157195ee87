// The examples nearest to a computation.
#pragma once

#include <vector>

#include "index/collection.h"

namespace fact::index {

struct Found {
    const Entry* entry = nullptr;  // one of the entries that were searched
    double distance = 0;
};

// At most `most` entries, nearest first, ties sorted by name. The same structure at another size is
// repeated only if all other entries are much further away in structure.
std::vector<Found> nearest(const std::vector<Entry>& entries, const Features& wanted,
                           std::size_t most);

}  // namespace fact::index

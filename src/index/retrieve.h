// The examples nearest to something that is to be written.
#pragma once

#include <vector>

#include "index/collection.h"

namespace fact::index {

struct Found {
    const Entry* entry = nullptr;  // of the entries that were searched
    double distance = 0;
};

// The nearest, by name where two are equally near. The same structure at another size comes again
// only where all that is left is much further away in structure.
std::vector<Found> nearest(const std::vector<Entry>& entries, const Features& wanted,
                           std::size_t most);

}  // namespace fact::index

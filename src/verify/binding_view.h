// A tensor of the graph as the kernel that is bound to it sees it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/fused.h"
#include "support/result.h"

namespace fact::verify {

struct View {
    std::vector<std::int64_t> sizes, strides;  // in elements
    // Of the first element, in elements; 0 unless the binding takes the second half.
    std::int64_t offset = 0;
    bool operator==(const View&) const = default;
};

// The view that the binding describes: each group of dimensions merged into one. An Error if a
// group's strides do not allow merging; if a dimension does not exist; if one that is to be halved
// has an odd extent; or if one that is neither broadcast nor of extent one is in no group.
Result<View> view_through(const graph::Binding& binding, std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides);

}  // namespace fact::verify

// A graph tensor as its kernel sees it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/fused.h"
#include "support/result.h"

namespace fact::verify {

struct View {
    std::vector<std::int64_t> sizes, strides;  // in elements
    std::int64_t offset = 0;                   // of the first element, if the kernel sees a half
    bool operator==(const View&) const = default;
};

// The dimensions that the binding names, each group merged into one. An Error says which group's
// strides do not allow that, which dimension cannot be halved, or which one is missing from the
// binding without being a broadcast.
Result<View> view_through(const graph::Binding& binding, std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides);

}  // namespace fact::verify

// Lists of dimensions.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

// The index of `dim`; -1 if it is not among them.
inline int position(const std::vector<DimId>& dims, DimId dim) {
    const auto at = std::find(dims.begin(), dims.end(), dim);
    return at == dims.end() ? -1 : static_cast<int>(at - dims.begin());
}

inline bool contains(const std::vector<DimId>& dims, DimId dim) {
    return position(dims, dim) >= 0;
}

inline bool contains(const std::vector<DimId>& all, const std::vector<DimId>& some) {
    return std::all_of(some.begin(), some.end(), [&](DimId dim) { return contains(all, dim); });
}

inline std::vector<DimId> joined(std::vector<DimId> list, const std::vector<DimId>& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
}

}  // namespace fact::ir

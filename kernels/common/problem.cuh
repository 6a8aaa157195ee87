// What every skeleton knows about a product; plain C++, so that host code can include it too.
#pragma once

namespace fact {

// A batch with fewer dimensions is padded with extents of one.
template <int kBatches>
struct ExtentsOf {
    int m, n, k, batch[kBatches];
};
using Extents = ExtentsOf<2>;

enum class Major { k, mn };  // which dimension of an operand is contiguous

}  // namespace fact

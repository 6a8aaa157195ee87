// What every skeleton knows of a product; plain C++, so that hosts can read it too.
#pragma once

namespace fact {

// A batch of fewer dimensions is filled up with extents of one.
template <int kBatches>
struct ExtentsOf {
    int m, n, k, batch[kBatches];
};
using Extents = ExtentsOf<2>;

enum class Major { k, mn };  // which dimension of an operand is contiguous

}  // namespace fact

// What every skeleton knows about a product; plain C++, so that host code can include it too.
#pragma once

namespace fact {

// kBatches, here and in all kernels, is the number of batch dimensions. A batch with fewer of them
// is padded with extents of one.
template <int kBatches>
struct ExtentsOf {
    int m, n, k, batch[kBatches];
};
using Extents = ExtentsOf<2>;

enum class Major { k, mn };  // which dimension of an operand is contiguous

}  // namespace fact

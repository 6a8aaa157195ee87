// What every skeleton knows of a product; plain C++, so that hosts can read it too.
#pragma once

namespace fact {

struct Extents {
    int m, n, k, batch0, batch1;
};

enum class Major { k, mn };  // which dimension of an operand is contiguous

}  // namespace fact

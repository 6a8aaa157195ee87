// Tensor maps of the sm90 skeletons: a tensor is a batch of matrices, accessed one box at a time.
#pragma once

#include <vector>

#include "target/launch_record.h"

namespace fact::lower::sm90 {

inline constexpr int kStoreRows = 16;  // rows of a box that a warp stores

// `x` and `y` are dimensions of the tensor, the contiguous one first; `batch` are the others,
// kNoDim for one that it lacks.
inline TensorMapParam matrix_map(int tensor, int x, int y, const std::vector<int>& batch, int box_x,
                                 int box_y) {
    TensorMapParam map;
    map.tensor = tensor;
    map.dims = {x, y};
    map.dims.insert(map.dims.end(), batch.begin(), batch.end());
    map.box = {box_x, box_y};
    map.box.resize(map.dims.size(), 1);
    return map;
}

}  // namespace fact::lower::sm90

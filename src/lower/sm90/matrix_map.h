// How the skeletons of sm90 see a tensor: as matrices in a batch, a box of one at a time.
#pragma once

#include <vector>

#include "target/launch_record.h"

namespace fact::lower::sm90 {

inline constexpr int kStoreRows = 16;  // a warp's rows of a box that is stored

// `x` and `y` are dimensions of the tensor, `batch` those after them (kNoDim: it has no such).
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

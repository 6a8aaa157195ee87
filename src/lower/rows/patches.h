// Convolutions of few channels as products of patches of the images in shared memory
// (patch_convolution.cuh), on GPUs that have wgmma.
#pragma once

#include <array>
#include <optional>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

// The numbers of a convolution, and how its patches are shared out.
struct PatchShape {
    int parts = 2;  // f16 numbers that make up an f32 number
    std::int64_t num_images = 1, num_features = 1, num_channels = 1;
    // Depth, rows and columns: ones for those that a convolution does not have.
    std::array<std::int64_t, 3> taps{1, 1, 1}, dilation{1, 1, 1}, before{}, image{1, 1, 1},
        num_places{1, 1, 1};
    int runs = 1, groups = 4;  // as in PatchLayout
    bool fetches = false;
    int shared_bytes = 0;
    std::int64_t tiles() const;  // of one image
};

// Chooses how many places a warp group takes at a time (as many as the sums of 64 features take
// registers for) and how many groups a block has. False if no choice fits into shared memory, or
// the places are too few to keep a GPU busy.
bool choose_patches(PatchShape& shape);

struct PatchForm : PatchShape {
    RowsForm dims;
    ir::ExprId reduction{};                   // the sum over taps and channels
    std::uint32_t images = 0, weights = 0;    // parameters
    std::vector<ir::DimId> batch;             // none or one: images
    std::vector<ir::DimId> features, places;  // places: the innermost last
    ir::DimId channel{};
    int together = 1;  // neighbouring places whose results are stored together
};

// nullopt if the kernel does something else, or its patches do not fit into shared memory. The
// extents of all rows but the outermost must be constants.
std::optional<PatchForm> patch_form(const ir::Kernel& kernel, const RowsForm& form,
                                    const RowsFacts& facts);
std::string patches_source(const ir::Kernel& kernel, const PatchForm& form);
LaunchRecord patches_record(const ir::Kernel& kernel, const PatchForm& form, std::string_view arch);

}  // namespace fact::lower

// A transposed convolution along one dimension, as an ordinary convolution of step one.
//
// Element i and tap r of the weight meet in result o = stride * i + r - padding. Results that are
// `stride` apart see the elements through the same taps: they are one phase. With
// o = stride * q + a - skipped, phase a of place q sums over `taps` elements from q - before on,
// and so all phases together are one convolution, with the weights of a phase in place of a
// feature's. Taps that are `dilation` apart are so in a convolution of one phase; for several
// phases zeros come between them.
#pragma once

#include <cstdint>

#include "graph/windows.h"

namespace fact::graph {

struct Phases {
    std::int64_t phases = 1;             // as many as the stride
    std::int64_t places = 1, taps = 1;   // of each phase
    std::int64_t before = 0, after = 0;  // elements outside of the source that windows cover
    std::int64_t dilation = 1;           // of the new convolution
    // Tap t of phase a is the weight's element a + stride * (taps - 1 - t) - weight_before: the
    // weight seen through windows of `phases` places, with taps backwards and `stride` apart. Each
    // tap of this weight, but the last, is followed by `apart` - 1 zeros.
    std::int64_t weight_before = 0, weight_after = 0;
    std::int64_t apart = 1;
    // Of the places * phases numbers, in the order of results, so many at the beginning and at the
    // end are none.
    std::int64_t skipped = 0, dropped = 0;
    bool operator==(const Phases&) const = default;
};

// For a rule of a transposed convolution whose source has `extent` elements along its dimension.
Phases phases_of(const WindowDim& rule, std::int64_t extent);

}  // namespace fact::graph

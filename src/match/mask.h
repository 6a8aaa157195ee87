// What a mask of known elements lets each row of scores see.
#pragma once

#include "match/known_values.h"
#include "match/space.h"

namespace fact::match {

enum class MaskMeaning {
    add,         // its numbers are added to the scores
    hide_where,  // true hides
    show_where,  // true shows
};

enum class Sight {
    all,     // everything: as if there were no mask
    causal,  // row i sees columns 0 to i
    other,
};

// Added to a score, or put in its place, this leaves no weight: softmax of anything near it and of
// an ordinary score is 0 for the former, in f32 and in every narrower type.
inline constexpr double kHidden = -3e4;

// `shape` says which dimension of the mask runs along the rows and which along the columns, of
// these extents; along others it may vary too, and must mean the same everywhere. What is added
// hides from `hidden` downwards.
struct MaskFrame {
    Axis rows = 0, columns = 0;
    std::int64_t num_rows = 1, num_columns = 1;
    double hidden = kHidden;
};
Sight sight_of(const KnownTensor& mask, MaskMeaning meaning, const Shape& shape,
               const MaskFrame& frame);

}  // namespace fact::match

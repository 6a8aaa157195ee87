// What a mask of known elements lets each row of scores see.
#pragma once

#include <algorithm>
#include <optional>

#include "match/axes/space.h"
#include "match/known/values.h"

namespace fact::match {

enum class MaskMeaning {
    add,         // its numbers are added to the scores
    hide_where,  // true hides
    show_where,  // true shows
};

// Row i sees columns 0 to i where it is causal, and with a window those less than it away from i.
// Everything where it is neither: as if there were no mask.
struct Sight {
    bool causal = false;
    std::optional<std::int64_t> window = {};

    bool is_all() const { return !causal && !window; }
    // Sees what both see.
    void narrow(const Sight& other) {
        causal |= other.causal;
        if (other.window) window = std::min(window.value_or(*other.window), *other.window);
    }
    bool operator==(const Sight&) const = default;
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
// Nothing where rows see otherwise, or where one sees nothing at all.
std::optional<Sight> sight_of(const KnownTensor& mask, MaskMeaning meaning, const Shape& shape,
                              const MaskFrame& frame);

}  // namespace fact::match

// Which columns a mask with known elements lets each row of scores see.
#pragma once

#include <algorithm>
#include <optional>

#include "match/axes/space.h"
#include "match/known/values.h"

namespace fact::match {

enum class MaskMeaning {
    add,         // its numbers are added to the scores
    hide_where,  // true hides a score
    show_where,  // false hides a score
};

// The columns that row i sees: 0 to i if `causal`, and only those closer to i than `window` if
// there is one. All columns if neither is set.
struct Sight {
    bool causal = false;
    std::optional<std::int64_t> window = {};

    bool is_all() const { return !causal && !window; }
    // Keeps only the columns that `other` lets rows see too.
    void narrow(const Sight& other) {
        causal |= other.causal;
        if (other.window) window = std::min(window.value_or(*other.window), *other.window);
    }
    bool operator==(const Sight&) const = default;
};

// A score of about this size, or one to which this is added, gets weight 0 in a softmax beside an
// ordinary score, in f32 and in every narrower type.
inline constexpr double kHidden = -3e4;

// The rows and columns of the scores that a mask applies to.
struct MaskFrame {
    Axis rows = 0, columns = 0;
    std::int64_t num_rows = 1, num_columns = 1;
    double hidden = kHidden;  // an added number at or below this hides a score
};
// What a mask of this shape lets rows see. The mask may have more dimensions than rows and columns,
// if its Sight is the same along all of them. nullopt if no Sight describes the mask, or if a row
// sees nothing.
std::optional<Sight> sight_of(const KnownTensor& mask, MaskMeaning meaning, const Shape& shape,
                              const MaskFrame& frame);

}  // namespace fact::match

#include "match/attention/mask.h"

#include <limits>

namespace fact::match {

namespace {

using Place = std::vector<std::int64_t>;

enum class Element { shown, hidden, neither };

Element element(double value, MaskMeaning meaning, double hidden) {
    switch (meaning) {
        case MaskMeaning::hide_where:
            return value != 0 ? Element::hidden : Element::shown;
        case MaskMeaning::show_where:
            return value != 0 ? Element::shown : Element::hidden;
        case MaskMeaning::add:
            if (value == 0) return Element::shown;
            return value <= hidden ? Element::hidden : Element::neither;
    }
    return Element::neither;
}

// What is looked at of each dimension, and which of them counts rows and columns; -1: none.
struct Walk {
    std::vector<std::int64_t> sizes;
    int row = -1, column = -1;
};

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// What was met on one side of the diagonal, by the distance from it.
struct Side {
    std::int64_t most_shown = -1, least_hidden = kNone;

    void meet(std::int64_t distance, Element is) {
        if (is == Element::shown)
            most_shown = std::max(most_shown, distance);
        else
            least_hidden = std::min(least_hidden, distance);
    }
};

std::optional<Sight> sight_of(const Side& behind, const Side& ahead) {
    if (behind.least_hidden == kNone && ahead.least_hidden == kNone) return Sight{};
    Sight sight;
    sight.causal = ahead.most_shown < 0 && ahead.least_hidden != kNone;
    const std::int64_t hidden =
        sight.causal ? behind.least_hidden : std::min(behind.least_hidden, ahead.least_hidden);
    if (hidden == 0 || std::max(behind.most_shown, ahead.most_shown) >= hidden) return std::nullopt;
    if (hidden != kNone) sight.window = hidden;
    return sight;
}

}  // namespace

std::optional<Sight> sight_of(const KnownTensor& mask, MaskMeaning meaning, const Shape& shape,
                              const MaskFrame& frame) {
    Walk walk{mask.sizes, -1, -1};
    for (std::size_t d = 0; d < mask.sizes.size(); ++d) {
        const auto& axes = shape[d];
        if (axes == std::vector{frame.rows})
            walk.row = static_cast<int>(d);
        else if (axes == std::vector{frame.columns})
            walk.column = static_cast<int>(d);
        else if (mask.strides[d] == 0)
            walk.sizes[d] = 1;
        // Rows or columns merged with something else: which one an element is cannot be told.
        if (axes.size() > 1)
            for (const Axis axis : axes)
                if (axis == frame.rows || axis == frame.columns) return std::nullopt;
    }
    Side behind, ahead;  // the diagonal is behind
    Place place(mask.sizes.size(), 0);
    std::int64_t left = 1;
    for (const auto size : walk.sizes) left *= size;
    for (; left > 0; --left) {
        const Element is = element(mask.at(place), meaning, frame.hidden);
        if (is == Element::neither) return std::nullopt;
        const std::int64_t i = walk.row < 0 ? 0 : place[static_cast<std::size_t>(walk.row)];
        const std::int64_t j = walk.column < 0 ? 0 : place[static_cast<std::size_t>(walk.column)];
        j > i ? ahead.meet(j - i, is) : behind.meet(i - j, is);
        if (behind.most_shown >= behind.least_hidden || ahead.most_shown >= ahead.least_hidden)
            return std::nullopt;
        for (std::size_t d = place.size(); d-- > 0;) {
            if (++place[d] < walk.sizes[d]) break;
            place[d] = 0;
        }
    }
    const auto sight = sight_of(behind, ahead);
    if (!sight || sight->is_all()) return sight;
    // A mask that does not vary along the rows shows every row what it shows the first.
    if ((walk.row < 0 && frame.num_rows > 1) || (walk.column < 0 && frame.num_columns > 1))
        return std::nullopt;
    // The last row looks back furthest.
    if (sight->window.value_or(frame.num_rows) <= frame.num_rows - frame.num_columns)
        return std::nullopt;
    return sight;
}

}  // namespace fact::match

#include "match/attention/mask.h"

#include <limits>

namespace fact::match {

namespace {

using Place = std::vector<std::int64_t>;

enum class Element { shown, hidden, neither };  // neither: a number that changes the score

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

// How many elements of each dimension are visited, and which dimensions are rows and columns (-1 if
// there is none).
struct Walk {
    std::vector<std::int64_t> sizes;
    int row = -1, column = -1;
};

constexpr std::int64_t kNoneHidden = std::numeric_limits<std::int64_t>::max();

// The elements on one side of the diagonal, by their distance from it.
struct Side {
    std::int64_t farthest_shown = -1, nearest_hidden = kNoneHidden;

    void add(std::int64_t distance, Element element) {
        if (element == Element::shown)
            farthest_shown = std::max(farthest_shown, distance);
        else
            nearest_hidden = std::min(nearest_hidden, distance);
    }
};

std::optional<Sight> sight_of(const Side& behind, const Side& ahead) {
    if (behind.nearest_hidden == kNoneHidden && ahead.nearest_hidden == kNoneHidden) return Sight{};
    Sight sight;
    sight.causal = ahead.farthest_shown < 0 && ahead.nearest_hidden != kNoneHidden;
    const std::int64_t nearest = sight.causal
                                     ? behind.nearest_hidden
                                     : std::min(behind.nearest_hidden, ahead.nearest_hidden);
    // A Sight shows the diagonal and nothing beyond the nearest hidden element.
    if (nearest == 0 || std::max(behind.farthest_shown, ahead.farthest_shown) >= nearest)
        return std::nullopt;
    if (nearest != kNoneHidden) sight.window = nearest;
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
        // If rows or columns are merged with another axis, an element's row or column is unknown.
        if (axes.size() > 1)
            for (const Axis axis : axes)
                if (axis == frame.rows || axis == frame.columns) return std::nullopt;
    }
    Side behind, ahead;  // `behind` includes the diagonal
    Place place(mask.sizes.size(), 0);
    std::int64_t num_left = 1;  // elements that have not been visited
    for (const auto size : walk.sizes) num_left *= size;
    for (; num_left > 0; --num_left) {
        const Element found = element(mask.at(place), meaning, frame.hidden);
        if (found == Element::neither) return std::nullopt;
        const std::int64_t i = walk.row < 0 ? 0 : place[static_cast<std::size_t>(walk.row)];
        const std::int64_t j = walk.column < 0 ? 0 : place[static_cast<std::size_t>(walk.column)];
        j > i ? ahead.add(j - i, found) : behind.add(i - j, found);
        // On each side of the diagonal, a Sight shows what is near and hides what is far.
        if (behind.farthest_shown >= behind.nearest_hidden ||
            ahead.farthest_shown >= ahead.nearest_hidden)
            return std::nullopt;
        for (std::size_t d = place.size(); d-- > 0;) {
            if (++place[d] < walk.sizes[d]) break;
            place[d] = 0;
        }
    }
    const auto sight = sight_of(behind, ahead);
    if (!sight || sight->is_all()) return sight;
    // A mask without rows or without columns repeats its first one, which no Sight describes.
    if ((walk.row < 0 && frame.num_rows > 1) || (walk.column < 0 && frame.num_columns > 1))
        return std::nullopt;
    // The last row must see at least one column.
    if (sight->window.value_or(frame.num_rows) <= frame.num_rows - frame.num_columns)
        return std::nullopt;
    return sight;
}

}  // namespace fact::match

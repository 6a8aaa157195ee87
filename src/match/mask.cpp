#include "match/mask.h"

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

}  // namespace

Sight sight_of(const KnownTensor& mask, MaskMeaning meaning, const Shape& shape,
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
                if (axis == frame.rows || axis == frame.columns) return Sight::other;
    }
    // A mask that does not vary along the rows shows every row what it shows the first.
    const bool few_rows = walk.row >= 0 || frame.num_rows == 1;
    const bool few_columns = walk.column >= 0 || frame.num_columns == 1;
    bool all = true, causal = few_rows && few_columns;
    Place place(mask.sizes.size(), 0);
    std::int64_t left = 1;
    for (const auto size : walk.sizes) left *= size;
    for (; left > 0 && (all || causal); --left) {
        const Element is = element(mask.at(place), meaning, frame.hidden);
        if (is == Element::neither) return Sight::other;
        const std::int64_t i = walk.row < 0 ? 0 : place[static_cast<std::size_t>(walk.row)];
        const std::int64_t j = walk.column < 0 ? 0 : place[static_cast<std::size_t>(walk.column)];
        all = all && is == Element::shown;
        causal = causal && (is == Element::shown) == (j <= i);
        for (std::size_t d = place.size(); d-- > 0;) {
            if (++place[d] < walk.sizes[d]) break;
            place[d] = 0;
        }
    }
    return all ? Sight::all : causal ? Sight::causal : Sight::other;
}

}  // namespace fact::match

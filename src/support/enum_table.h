// Tables with one row per enumerator.
#pragma once

#include <array>
#include <cstddef>

namespace fact {

// The rows of an enumeration that counts from 0. `row_of` is a switch over it without a default, so
// that the compiler warns if a new enumerator has no row; for any other number it returns
// std::nullopt, which ends the table.
template <class Enum, class RowOf>
constexpr auto table_of(RowOf row_of) {
    constexpr std::size_t count = [] {
        std::size_t n = 0;
        while (RowOf{}(static_cast<Enum>(n))) ++n;
        return n;
    }();
    std::array<typename decltype(row_of(Enum{}))::value_type, count> rows{};
    for (std::size_t i = 0; i < count; ++i) rows[i] = *row_of(static_cast<Enum>(i));
    return rows;
}

}  // namespace fact

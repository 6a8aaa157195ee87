// Which columns a row of attention sees: all of the tensor's, if causal only those up to the row's
// own, and with a window only those less than kWindow away.
#pragma once

namespace fact {

// kWindow: 0 for none. Ranges of rows and columns end before `end`.
template <bool kCausal, int kWindow>
struct Sight {
    static constexpr bool kSkips = kWindow > 0;  // late rows do not see the first columns
    // first() and end() increase with the row: a range of rows sees the columns from first() of its
    // first row to end() of its last one.
    __device__ static int first(int row) { return kSkips ? max(row - kWindow + 1, 0) : 0; }
    __device__ static int end(int row, int columns) {
        if (kCausal) return min(columns, row + 1);
        return kWindow > 0 ? min(columns, row + kWindow) : columns;
    }

    // Whether all of these rows see all of these columns.
    __device__ static bool whole(int row, int row_end, int column, int column_end, int columns) {
        return column_end <= end(row, columns) && column >= first(row_end - 1);
    }
    // Whether none of these rows sees any of these columns.
    __device__ static bool none(int row, int row_end, int column, int column_end, int columns) {
        if (!kCausal && kWindow == 0) return false;
        return column >= end(row_end - 1, columns) || column_end <= first(row);
    }
    // Whether some rows see many more columns than others.
    __device__ static bool grows(int rows) {
        return kCausal && (kWindow == 0 || kWindow > rows / 2);
    }
};

template <class Config>
using SightOf = Sight<Config::kCausal, Config::kWindow>;

}  // namespace fact

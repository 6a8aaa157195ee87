// A row kernel whose rows fit into registers, and how threads share them (vector_rows.cuh,
// held_columns.cuh).
#pragma once

#include <optional>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

struct VectorForm {
    // Unlike in other forms, `over` is never empty: for a pointwise kernel it is the last
    // dimension. It has several dimensions only if their extents are known and they, or all but
    // the first, are contiguous together.
    RowsForm dims;
    std::int64_t length = 0;   // elements of a row
    std::int64_t piece = 0;    // of them contiguous; 0: all
    int vector = 1;            // elements that a thread reads at a time
    int threads_per_row = 32;  // of one thread block
    int blocks_per_row = 1;    // a cluster
    // Neighbours in memory are of different rows, of which a cluster holds 32.
    bool across = false;
    bool prefetch = true;      // whether the next row is loaded before this one is computed
    bool all_at_once = false;  // as many thread blocks as rows need, without a limit
    // Bytes per access to each parameter, then each output; 0: it is not accessed by vectors.
    std::vector<int> access;

    // As in vector_rows.cuh.
    int threads_per_block() const { return threads_per_row <= 32 ? 128 : threads_per_row; }
    int rows_per_block() const {
        return across ? kColumnsTogether : threads_per_block() / threads_per_row;
    }
    static constexpr int kColumnsTogether = 32;
};

// Whether the tensor's rows are made of pieces. Those of tensors with fewer dimensions may not be.
bool is_in_pieces(const ir::Kernel& kernel, const VectorForm& form, const ir::Tensor& tensor);

// nullopt if rows are neither contiguous nor made of such pieces, are too long or have an unknown
// length, if there is only one row, or if a flip moves elements from one vector of the row to
// another.
std::optional<VectorForm> vector_form(const ir::Kernel& kernel, const RowsForm& form,
                                      const RowsFacts& facts);

// The same for rows whose neighbours in memory are of other rows; nullopt if they are too long, or
// so short that others serve them.
std::optional<VectorForm> held_columns_form(const ir::Kernel& kernel, const RowsForm& form,
                                            const RowsFacts& facts);

}  // namespace fact::lower

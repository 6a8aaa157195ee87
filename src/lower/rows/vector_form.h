// A row kernel whose rows fit into registers, and how threads share them (vector_rows.cuh).
#pragma once

#include <optional>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

struct VectorForm {
    // Its `over` is never empty: of a pointwise kernel it is the last dimension. It is several only
    // where their extents are constants and they are contiguous together.
    RowsForm rows;
    std::int64_t length = 0;
    int vector = 1;           // elements that a thread reads at a time
    int threads = 32;         // of a row
    bool ahead = true;        // whether the next row is loaded before this one is computed
    std::vector<int> access;  // bytes at a time, of parameters and outputs; 0: not along the row

    int block() const { return threads <= 32 ? 128 : threads; }  // as in vector_rows.cuh
    int rows_a_block() const { return block() / threads; }
};

// Nothing where rows do not lie in one piece, are too long, or of a length that is not known.
std::optional<VectorForm> vector_form(const ir::Kernel& kernel, const RowsForm& form,
                                      const RowsFacts& facts);

}  // namespace fact::lower

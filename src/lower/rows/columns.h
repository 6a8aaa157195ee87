// A row kernel in which a thread computes whole rows that are neighbours in memory (columns.cuh).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

struct ColumnsForm {
    RowsForm dims;
    std::int64_t length = 0;  // elements of a row
    int neighbours = 1;       // rows of a thread
    // Whether a thread holds its rows in registers, because they are needed more than once.
    bool held = false;
    std::set<ir::ExprId> in_registers = {};  // the computed values that it holds, too
};

// nullopt if rows are elsewhere in memory, too few to keep a GPU busy with a thread for each, or
// needed again and too long for a thread's registers, or if not all extents are known.
std::optional<ColumnsForm> columns_form(const ir::Kernel& kernel, const RowsForm& form,
                                        const RowsFacts& facts);
// Whether the rows are neighbours in the tensor's memory, if it has more than one value for them.
bool is_side_by_side(const ir::Kernel& kernel, const RowsForm& form, const ir::Tensor& tensor);
// Bytes of an access to so many neighbours.
int columns_access(const ir::Tensor& tensor, int count);
// `kernel` has as constants all extents but the outermost of several dimensions of rows.
std::string columns_source(const ir::Kernel& kernel, const ColumnsForm& form);
LaunchRecord columns_record(const ir::Kernel& kernel, const ColumnsForm& form,
                            std::string_view arch);

}  // namespace fact::lower

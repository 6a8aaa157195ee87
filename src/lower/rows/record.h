// The launch record of a row kernel, and what it shares with the emitted text.
#pragma once

#include "lower/rows/vector_form.h"
#include "target/launch_record.h"

namespace fact::lower {

// The dimensions whose extents are members of the arguments, in their order: all that are no
// constants.
std::vector<ir::DimId> extent_fields(const ir::Kernel& kernel, const RowsForm& form);

// How threads share the rows, as types of rows.cuh: a thread takes a row that is short and known to
// be; a block takes 32 at a time where neighbouring rows are neighbours in memory; else a block
// takes one.
struct RowShape {
    std::string_view type, schedule;
    int rows_a_block = 1;
};
RowShape row_shape(const ir::Kernel& kernel, const RowsForm& form);

LaunchRecord rows_record(const ir::Kernel& kernel, const RowsForm& form, std::string_view arch);
// `kernel` has the row's length as a constant.
LaunchRecord vector_rows_record(const ir::Kernel& kernel, const VectorForm& form,
                                std::string_view arch);

}  // namespace fact::lower

// The launch record of a row kernel, and what it shares with the emitted source.
#pragma once

#include "lower/rows/vector_form.h"
#include "target/launch_record.h"

namespace fact::lower {

inline constexpr int kRowThreads = 256;  // as in rows.cuh
// Thread blocks of row kernels, in times of what fits on the GPU. With fewer, each works on rows
// that lie far apart, and memory is read and written less in order: up to 8 % slower, and three
// times where rows begin within a sector (bench/row_blocks.cu).
inline constexpr int kWaves = 64;

// The dimensions whose extents are members of the arguments, in order: all that are not constant.
std::vector<ir::DimId> extent_fields(const ir::Kernel& kernel, const RowsForm& form);

// How threads share the rows, as types of rows.cuh, or of scan.cuh for a running sum: a thread
// takes a row if its length is known and short; a thread block takes 32 rows at a time if
// neighbouring rows are neighbours in memory; else a thread block takes one row.
struct RowShape {
    std::string_view type;
    std::string_view schedule;  // in words, for the launch record
    int rows_per_block = 1;
};
RowShape row_shape(const ir::Kernel& kernel, const RowsForm& form);

// Whether all parameters that vary both along a row and across the rows are contiguous across the
// rows; false if there are none.
bool contiguous_across_rows(const ir::Kernel& kernel, const RowsForm& form);
// Whether rows are gone through more than once: to reduce them, and then for more.
bool needed_again(const ir::Kernel& kernel, const RowsForm& form);

// The length of rows that ColumnRow holds in registers, because they are needed more than once; 0
// if it does not. The length has to be a constant.
std::int64_t held_length(const ir::Kernel& kernel, const RowsForm& form);
// Whether the value is a parameter of which it holds a thread's part.
bool is_held_param(const ir::Kernel& kernel, const RowsForm& form, ir::ExprId id);

// How many of a tensor's last dimensions, which may be factored, have the dimensions of `row`.
int row_dims(const ir::Kernel& kernel, const std::vector<ir::DimId>& row, std::size_t tensor);

// A record with the kernel's arguments in one launch, whose grid and block are left to the caller.
LaunchRecord element_record(const ir::Kernel& kernel, const RowsForm& form, std::string_view arch,
                            std::string_view schedule);
LaunchRecord rows_record(const ir::Kernel& kernel, const RowsForm& form, std::string_view arch);
// `kernel` has the row's length as a constant.
LaunchRecord vector_rows_record(const ir::Kernel& kernel, const VectorForm& form,
                                std::string_view arch);

}  // namespace fact::lower

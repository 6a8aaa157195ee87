#include "lower/rows/lower.h"

#include "lower/rows/record.h"
#include "lower/rows/source.h"

namespace fact::lower {

Result<Lowered> lower_rows(const ir::Kernel& kernel, const RowsFacts& facts) {
    const auto form = rows_form(kernel);
    if (!form) return form.error();
    const auto vectors = vector_form(kernel, *form, facts);
    if (!vectors)
        return Lowered{element_rows_source(kernel, *form), rows_record(kernel, *form, facts.arch)};
    const ir::DimId row = vectors->rows.over.front();
    ir::Kernel bound = kernel;
    bound.dims[ir::index(row)].extent = vectors->length;
    Lowered lowered{vector_rows_source(bound, *vectors),
                    vector_rows_record(bound, *vectors, facts.arch)};
    if (!kernel[row].extent) lowered.fixed.push_back({row, vectors->length});
    return lowered;
}

}  // namespace fact::lower

#include "lower/rows/lower.h"

#include "lower/rows/chunks.h"
#include "lower/rows/flips.h"
#include "lower/rows/record.h"
#include "lower/rows/source.h"

namespace fact::lower {

namespace {

// The kernel with rows in registers. Their length becomes a constant.
Lowered with_vectors(const ir::Kernel& kernel, const VectorForm& form, const std::string& arch) {
    const ir::DimId row = form.dims.over.front();
    ir::Kernel fixed = kernel;
    if (!kernel[row].extent) fixed.dims[ir::index(row)].extent = form.length;
    Lowered lowered{vector_rows_source(fixed, form), vector_rows_record(fixed, form, arch)};
    if (!kernel[row].extent) lowered.fixed.push_back({row, form.length});
    return lowered;
}

}  // namespace

Result<Lowered> lower_rows(const ir::Kernel& original, const RowsFacts& facts) {
    const ir::Kernel kernel = flips_at_leaves(original);
    const auto form = rows_form(kernel);
    if (!form) return form.error();
    if (const auto chunked = in_chunks(kernel, *form, facts)) {
        const auto chunks = rows_form(*chunked);
        const auto vectors = chunks ? vector_form(*chunked, *chunks, facts) : std::nullopt;
        if (vectors) {
            Lowered lowered = with_vectors(*chunked, *vectors, facts.arch);
            const ir::DimId split = form->rows.back();
            if (!kernel[split].extent)
                lowered.fixed.push_back({split, facts.extents[ir::index(split)]});
            return lowered;
        }
    }
    if (const auto vectors = vector_form(kernel, *form, facts))
        return with_vectors(kernel, *vectors, facts.arch);
    return Lowered{element_rows_source(kernel, *form), rows_record(kernel, *form, facts.arch)};
}

}  // namespace fact::lower

#include "lower/rows/lower.h"

#include "lower/rows/chunks.h"
#include "lower/rows/flips.h"
#include "lower/rows/record.h"
#include "lower/rows/source.h"

namespace fact::lower {

namespace {

// The kernel with rows in registers. Their extents become constants.
Lowered with_vectors(const ir::Kernel& kernel, const VectorForm& form, const RowsFacts& facts) {
    ir::Kernel fixed = kernel;
    std::vector<FixedExtent> extents;
    for (const ir::DimId dim : form.dims.over)
        if (!kernel[dim].extent) {
            extents.push_back({dim, facts.extents[ir::index(dim)]});
            fixed.dims[ir::index(dim)].extent = extents.back().extent;
        }
    return {vector_rows_source(fixed, form), vector_rows_record(fixed, form, facts.arch), extents};
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
            Lowered lowered = with_vectors(*chunked, *vectors, facts);
            const ir::DimId split = form->rows.back();
            if (!kernel[split].extent)
                lowered.fixed.push_back({split, facts.extents[ir::index(split)]});
            return lowered;
        }
    }
    if (const auto vectors = vector_form(kernel, *form, facts))
        return with_vectors(kernel, *vectors, facts);
    return Lowered{element_rows_source(kernel, *form), rows_record(kernel, *form, facts.arch)};
}

}  // namespace fact::lower

#include "lower/rows/lower.h"

#include "lower/rows/chunks.h"
#include "lower/rows/flips.h"
#include "lower/rows/record.h"
#include "lower/rows/source.h"

namespace fact::lower {

namespace {

Lowered with_vectors(const ir::Kernel& kernel, const VectorForm& form, const std::string& arch) {
    const ir::DimId row = form.dims.over.front();
    ir::Kernel bound = kernel;
    if (!kernel[row].extent) bound.dims[ir::index(row)].extent = form.length;
    Lowered lowered{vector_rows_source(bound, form), vector_rows_record(bound, form, arch)};
    if (!kernel[row].extent) lowered.fixed.push_back({row, form.length});
    return lowered;
}

}  // namespace

Result<Lowered> lower_rows(const ir::Kernel& whole, const RowsFacts& facts) {
    const ir::Kernel kernel = flips_at_leaves(whole);
    const auto form = rows_form(kernel);
    if (!form) return form.error();
    if (const auto chunked = in_chunks(kernel, *form, facts)) {
        const auto chunks = rows_form(*chunked);
        const auto vectors = chunks ? vector_form(*chunked, *chunks, facts) : std::nullopt;
        if (vectors) {
            Lowered lowered = with_vectors(*chunked, *vectors, facts.arch);
            const ir::DimId whole = form->rows.back();
            if (!kernel[whole].extent)
                lowered.fixed.push_back({whole, facts.extents[ir::index(whole)]});
            return lowered;
        }
    }
    if (const auto vectors = vector_form(kernel, *form, facts))
        return with_vectors(kernel, *vectors, facts.arch);
    return Lowered{element_rows_source(kernel, *form), rows_record(kernel, *form, facts.arch)};
}

}  // namespace fact::lower

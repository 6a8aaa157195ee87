#include "lower/rows/lower.h"

#include "ir/extents.h"
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

// The kernel for windows. A thread divides by the extents of the rows to find its window, so these
// become constants, except for the outermost.
Lowered with_windows(const ir::Kernel& kernel, RowsForm form, const RowsFacts& facts) {
    ir::Kernel fixed = kernel;
    std::vector<FixedExtent> extents;
    const auto known = [&](ir::DimId dim) {
        const std::size_t d = ir::index(dim);
        if (kernel[dim].extent) return *kernel[dim].extent;
        return d < facts.extents.size() ? facts.extents[d] : ir::kUnknownExtent;
    };
    const auto fix = [&](ir::DimId dim) {
        if (fixed[dim].extent || known(dim) < 1) return;
        extents.push_back({dim, known(dim)});
        fixed.dims[ir::index(dim)].extent = known(dim);
    };
    double rows = 1;
    bool all_known = true;
    for (const ir::DimId dim : form.rows) {
        all_known &= known(dim) >= 1;
        rows *= static_cast<double>(known(dim));
        if (dim != form.rows.front()) fix(dim);
    }
    for (const ir::ExprId id : form.order)
        if (const auto* window = std::get_if<ir::Window>(&kernel[id].node))
            for (const ir::DimId places : window->places) fix(kernel[places].window->of);
    form.narrow = all_known && rows < static_cast<double>(kMaxCount);
    return {element_rows_source(fixed, form), rows_record(fixed, form, facts.arch), extents};
}

}  // namespace

Result<Lowered> lower_rows(const ir::Kernel& original, const RowsFacts& facts) {
    const ir::Kernel kernel = flips_at_leaves(original);
    const auto form = rows_form(kernel);
    if (!form) return form.error();
    if (form->has_windows(kernel)) return with_windows(kernel, *form, facts);
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

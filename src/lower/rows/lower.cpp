#include "lower/rows/lower.h"

#include <algorithm>

#include "ir/extents.h"
#include "lower/rows/chunks.h"
#include "lower/rows/columns.h"
#include "lower/rows/flips.h"
#include "lower/rows/limits.h"
#include "lower/rows/patches.h"
#include "lower/rows/record.h"
#include "lower/rows/source.h"
#include "lower/rows/strips.h"
#include "lower/rows/turned.h"
#include "lower/rows/vector_form.h"

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

// A copy of a kernel whose extents become constants one by one.
class FixedKernel {
  public:
    FixedKernel(const ir::Kernel& kernel, const RowsFacts& facts)
        : kernel(kernel), facts_(&facts) {}

    std::int64_t known(ir::DimId dim) const { return facts_->known(kernel, dim); }
    void fix(ir::DimId dim) {
        if (kernel[dim].extent || known(dim) < 1) return;
        extents.push_back({dim, known(dim)});
        kernel.dims[ir::index(dim)].extent = known(dim);
    }
    // A thread divides by the extents of the rows to find its own, so these become constants,
    // except for the outermost. Returns whether the rows are known to be few enough for 32 bits.
    bool fix_rows(const RowsForm& form) {
        double rows = 1;
        bool all_known = true;
        for (const ir::DimId dim : form.rows) {
            all_known &= known(dim) >= 1;
            rows *= static_cast<double>(known(dim));
            if (dim != form.rows.front()) fix(dim);
        }
        return all_known && rows < static_cast<double>(kMaxCount);
    }

    ir::Kernel kernel;
    std::vector<FixedExtent> extents;

  private:
    const RowsFacts* facts_;
};

// A kernel with windows. What it loops over is constant, too.
FixedKernel fixed_for_windows(const ir::Kernel& kernel, RowsForm& form, const RowsFacts& facts) {
    FixedKernel fixed(kernel, facts);
    form.narrow = fixed.fix_rows(form);
    for (const ir::DimId dim : form.over) fixed.fix(dim);
    for (const ir::ExprId id : form.order)
        if (const auto* window = std::get_if<ir::Window>(&kernel[id].node))
            for (const ir::DimId places : window->places)
                for (const ir::DimId part : kernel.factors({kernel[places].window->of}))
                    fixed.fix(part);
    return fixed;
}

Lowered with_windows(const ir::Kernel& kernel, RowsForm form, const RowsFacts& facts) {
    const FixedKernel fixed = fixed_for_windows(kernel, form, facts);
    if (const auto patches = patch_form(fixed.kernel, form, facts))
        return {patches_source(fixed.kernel, *patches),
                patches_record(fixed.kernel, *patches, facts.arch), fixed.extents};
    if (const auto strips = strip_form(fixed.kernel, form, facts))
        return {strips_source(fixed.kernel, *strips),
                strips_record(fixed.kernel, *strips, facts.arch), fixed.extents};
    return {element_rows_source(fixed.kernel, form), rows_record(fixed.kernel, form, facts.arch),
            fixed.extents};
}

// A thread divides by the extents of the rows to find its own, so these become constants, except
// for the outermost. That is a constant, too, if it numbers the neighbours, which must come out
// even.
Lowered with_columns(const ir::Kernel& kernel, const ColumnsForm& form, const RowsFacts& facts) {
    FixedKernel fixed(kernel, facts);
    fixed.fix_rows(form.dims);
    if (form.dims.rows.size() == 1) fixed.fix(form.dims.rows.front());
    for (const ir::DimId dim : form.dims.over) fixed.fix(dim);
    return {columns_source(fixed.kernel, form), columns_record(fixed.kernel, form, facts.arch),
            fixed.extents};
}

// Threads divide by the extents of rows and columns, which become constants.
Lowered with_tiles(const ir::Kernel& kernel, const TurnedForm& form, const RowsFacts& facts) {
    FixedKernel fixed(kernel, facts);
    fixed.fix(form.row);
    for (const ir::DimId dim : form.columns) fixed.fix(dim);
    return {turned_source(fixed.kernel, form), turned_record(fixed.kernel, form, facts.arch),
            fixed.extents};
}

}  // namespace

std::int64_t RowsFacts::known(const ir::Kernel& kernel, ir::DimId dim) const {
    const std::size_t d = ir::index(dim);
    if (kernel[dim].extent) return *kernel[dim].extent;
    return d < extents.size() ? extents[d] : ir::kUnknownExtent;
}

Result<Lowered> lower_rows(const ir::Kernel& original, const RowsFacts& facts) {
    const ir::Kernel kernel = flips_at_leaves(original);
    auto form = rows_form(kernel);
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
    if (const auto turned = turned_form(kernel, *form, facts))
        return with_tiles(kernel, *turned, facts);
    if (const auto columns = columns_form(kernel, *form, facts))
        return with_columns(kernel, *columns, facts);
    if (const auto held = held_columns_form(kernel, *form, facts))
        return with_vectors(kernel, *held, facts);
    FixedKernel fixed(kernel, facts);
    for (const ir::DimId dim : form->over) fixed.fix(dim);
    if (held_length(fixed.kernel, *form) == 0)
        fixed = FixedKernel(kernel, facts);
    else
        form->narrow = fixed.fix_rows(*form);
    return Lowered{element_rows_source(fixed.kernel, *form),
                   rows_record(fixed.kernel, *form, facts.arch), fixed.extents};
}

bool holds_long_rows(const ir::Kernel& original, const RowsFacts& facts) {
    const ir::Kernel kernel = flips_at_leaves(original);
    const auto form = rows_form(kernel);
    if (!form) return false;
    const auto count = [&](const std::vector<ir::DimId>& dims) {
        double product = 1;
        for (const ir::DimId dim : dims)
            product *= static_cast<double>(std::max<std::int64_t>(1, facts.known(kernel, dim)));
        return product;
    };
    const double length = count(form->over);
    return form->over.empty() ||
           (length < kWorthACluster && length * count(form->rows) < kManyElements) ||
           vector_form(kernel, *form, facts) || held_columns_form(kernel, *form, facts);
}

bool multiplies_patches(const ir::Kernel& original, const RowsFacts& facts) {
    const ir::Kernel kernel = flips_at_leaves(original);
    auto form = rows_form(kernel);
    if (!form || !form->has_windows(kernel)) return false;
    const FixedKernel fixed = fixed_for_windows(kernel, *form, facts);
    return patch_form(fixed.kernel, *form, facts).has_value();
}

}  // namespace fact::lower

#include "lower/attention/attention_record.h"

#include "lower/record/extent_terms.h"
#include "lower/record/record_parts.h"

namespace fact::lower {

StructParam attention_extents(const ir::Kernel& kernel, const AttentionForm& form) {
    StructBuilder extents;  // AttentionExtents
    for (const ir::DimId dim : {form.m, form.n, form.e}) extents.add(extent_of(kernel, {dim}));
    for (std::size_t i = 0; i < form.num_batch_dims(); ++i)
        extents.add(i < form.batch.size() ? extent_of(kernel, {form.batch[i]}) : ExtentField{});
    return extents.finish();
}

StructParam log_sums_param(const AttentionForm& form) {
    StructBuilder to;
    to.add(PointerField{form.log_sums->tensor});
    to.add(StrideField{form.log_sums->tensor, form.log_sums->rows});
    for (const int dim : form.log_sums->batch) to.add(StrideField{form.log_sums->tensor, dim});
    return to.finish();
}

PersistentGrid attention_grid(const AttentionForm& form, int rows) {
    PersistentGrid grid;
    grid.m = {{form.y.tensor, form.y.rows}};
    for (const int dim : form.y.batch)
        if (dim >= 0) grid.batch.push_back({form.y.tensor, dim});
    grid.tile_m = rows;
    return grid;
}

std::vector<Alignment> bias_alignments(const ir::Kernel& kernel, const AttentionForm& form) {
    std::vector<Alignment> rules;
    if (!form.bias) return rules;
    for (const EpilogueForm& extra : form.bias->extras) {
        const ir::Tensor& tensor = kernel.params[static_cast<std::size_t>(extra.tensor)];
        if (extra.paired) rules.push_back({extra.tensor, 2 * info(tensor.type.dtype).bytes});
    }
    return rules;
}

std::vector<ExtentField> attention_counts(const AttentionForm& form) {
    static_assert(2 * ir::kMaxWindow <= std::int64_t{1} << 31);
    if (!form.node.window || form.node.causal) return {};
    return {{{{form.y.tensor, form.y.rows}}, 2}};
}

std::vector<FixedExtent> fixed_features(const AttentionForm& form) {
    return {{form.d, form.depth}, {form.e, form.width}};
}

}  // namespace fact::lower

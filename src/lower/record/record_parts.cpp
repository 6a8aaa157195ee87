#include "lower/record/record_parts.h"

#include <algorithm>

#include "lower/record/extent_terms.h"
#include "support/division.h"

namespace fact::lower {

void StructBuilder::add(const Field& field) {
    const int size = bytes_of(field);
    offset_ = round_up(offset_, size);
    alignment_ = std::max(alignment_, size);
    param_.members.push_back({offset_, field});
    offset_ += size;
}

StructParam StructBuilder::finish() {
    param_.bytes = round_up(offset_, alignment_);
    return param_;
}

void bind_tensors(const ir::Kernel& kernel, LaunchRecord& record) {
    const auto spec = [&](const ir::Tensor& tensor) {
        return TensorSpec{tensor.name, tensor.type.dtype, static_cast<int>(tensor.type.dims.size()),
                          kernel.line_of(tensor.span)};
    };
    for (const ir::Tensor& param : kernel.params) record.params.push_back(spec(param));
    for (const ir::Output& output : kernel.outputs) record.outputs.push_back(spec(output.tensor));

    const ExtentTerms terms(kernel);
    for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
        const auto& places = terms.places(static_cast<ir::DimId>(d));
        if (places.empty()) continue;
        if (places.size() > 1) record.equal_extents.push_back(places);
        const ir::Dim& dim = kernel.dims[d];
        if (dim.factors.empty() && !dim.extent && !dim.window) continue;
        if (auto rule = terms.rule(static_cast<ir::DimId>(d)))
            record.extent_rules.push_back(std::move(*rule));
    }
    for (const ir::Multiple& rule : kernel.multiples)
        if (const ExtentField extent = terms.extent(rule.dim); !extent.dims.empty())
            record.extent_rules.push_back({extent, {{}, static_cast<int>(rule.of)}, true});
}

}  // namespace fact::lower

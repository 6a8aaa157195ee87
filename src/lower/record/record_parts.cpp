#include "lower/record/record_parts.h"

#include <algorithm>
#include <optional>

#include "support/result.h"

namespace fact::lower {

namespace {

// Where each dimension stands among the bound tensors.
std::vector<std::vector<DimOf>> places(const ir::Kernel& kernel) {
    std::vector<std::vector<DimOf>> found(kernel.dims.size());
    int number = 0;
    const auto note = [&](const ir::Tensor& tensor) {
        for (std::size_t i = 0; i < tensor.type.dims.size(); ++i)
            found[ir::index(tensor.type.dims[i])].push_back({number, static_cast<int>(i)});
        ++number;
    };
    for (const ir::Tensor& param : kernel.params) note(param);
    for (const ir::Output& output : kernel.outputs) note(output.tensor);
    return found;
}

// The constant part of a product of dimensions, and the rest.
struct Parts {
    int constant = 1;
    std::vector<ir::DimId> symbols;
};
Parts parts_of(const ir::Kernel& kernel, ir::DimId dim) {
    Parts parts;
    for (const ir::DimId factor : kernel.factors({dim})) {
        if (kernel[factor].extent)
            parts.constant *= static_cast<int>(*kernel[factor].extent);
        else
            parts.symbols.push_back(factor);
    }
    return parts;
}

}  // namespace

void StructBuilder::add(const Field& field) {
    const int size = std::holds_alternative<ExtentField>(field) ? 4 : 8;
    offset_ = (offset_ + size - 1) / size * size;
    alignment_ = std::max(alignment_, size);
    param_.members.push_back({offset_, field});
    offset_ += size;
}

StructParam StructBuilder::finish() {
    param_.bytes = (offset_ + alignment_ - 1) / alignment_ * alignment_;
    return param_;
}

void bind_tensors(const ir::Kernel& kernel, LaunchRecord& record) {
    const auto spec = [&](const ir::Tensor& tensor) {
        return TensorSpec{tensor.name, tensor.type.dtype, static_cast<int>(tensor.type.dims.size()),
                          kernel.line_of(tensor.span)};
    };
    for (const ir::Tensor& param : kernel.params) record.params.push_back(spec(param));
    for (const ir::Output& output : kernel.outputs) record.outputs.push_back(spec(output.tensor));

    const auto found = places(kernel);
    for (std::size_t d = 0; d < found.size(); ++d) {
        if (found[d].empty()) continue;
        if (found[d].size() > 1) record.equal_extents.push_back(found[d]);
        const Parts parts = parts_of(kernel, static_cast<ir::DimId>(d));
        if (kernel.dims[d].factors.empty() && !kernel.dims[d].extent) continue;
        ExtentRule rule{found[d].front(), {}, parts.constant};
        for (const ir::DimId symbol : parts.symbols) {
            const auto& at = found[ir::index(symbol)];
            if (at.empty())
                rule.multiple = true;
            else
                rule.factors.push_back(at.front());
        }
        record.extent_rules.push_back(rule);
    }
}

ExtentField extent_of(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims) {
    const auto found = places(kernel);
    ExtentField field;
    for (const ir::DimId dim : dims) {
        if (!found[ir::index(dim)].empty() && !kernel[dim].extent) {
            field.dims.push_back(found[ir::index(dim)].front());
            continue;
        }
        const Parts parts = parts_of(kernel, dim);
        field.times *= parts.constant;
        for (const ir::DimId symbol : parts.symbols) {
            if (const auto& at = found[ir::index(symbol)]; !at.empty()) {
                field.dims.push_back(at.front());
                continue;
            }
            // A factor that only a product tells: the others must be constants.
            std::optional<std::size_t> whole;
            for (std::size_t d = 0; d < found.size() && !whole; ++d) {
                const Parts other = parts_of(kernel, static_cast<ir::DimId>(d));
                if (!found[d].empty() && other.symbols == std::vector{symbol}) whole = d;
            }
            if (!whole) throw InternalError("no tensor tells the extent of " + kernel[symbol].name);
            field.dims.push_back(found[*whole].front());
            field.over *= parts_of(kernel, static_cast<ir::DimId>(*whole)).constant;
        }
    }
    return field;
}

}  // namespace fact::lower

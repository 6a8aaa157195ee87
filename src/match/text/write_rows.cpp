// Writes row-wise operators. A function of KernelWriter (kernel_writer.h).
#include <fmt/format.h>

#include <algorithm>

#include "match/operators/rowwise.h"
#include "match/text/kernel_writer.h"

namespace fact::match {

using graph::ValueId;
using ir::ExprId;

std::string KernelWriter::write_rowwise(graph::NodeId id) {
    const graph::Node& node = graph_[id];
    const RowwiseOp& op = *find_rowwise(node);
    ExprId x = values_.at(std::get<ValueId>(node.inputs.front().value));
    // Torch reads a rounded value here. If a product's kernel stores the value and the next one
    // reduces it, the cast also makes it as small in memory as torch's.
    const bool has_product = region_.anchor.node != kNoProduct;
    const DType dtype = graph_[std::get<ValueId>(node.inputs.front().value)].type->dtype;
    if (has_product && dtype != DType::f32 && info(dtype).floating) x = build_.cast(dtype, x);
    const AxisGroups& groups = region_.anchor.space.groups().at(id);
    const auto dims = forms_->expose_axes(x, groups);
    for (const auto& group : dims)
        if (group.empty() && !op.reduces)
            return fmt::format("{} works along a dimension of one element", node.name);
    // The first of two groups is what a loss is reduced over, in any order.
    for (std::size_t i = op.reduces && dims.size() > 1 ? 1 : 0; i < dims.size() && op.counts; ++i)
        if (!forms_->in_order(dims[i], groups[i]))
            return fmt::format("{} counts along dimensions that lie in another order", node.name);
    if (op.needs_extents)
        for (const ir::DimId dim : dims.front())
            for (const ir::DimId factor : kernel_.factors({dim})) {
                ir::Dim& part = kernel_.dims[ir::index(factor)];
                if (part.window) return fmt::format("{} reverses the places of windows", node.name);
                if (!part.extent) part.extent = extents_.at(part.name);
            }
    Translation translation(
        graph_, node, kernel_, forms_->aligner(),
        [&](const std::string& argument, ValueId value) { return operand(id, argument, value); });
    const auto results = op.build(translation, x, dims);
    for (std::size_t i = 0; i < std::min(results.size(), node.outputs.size()); ++i)
        values_[node.outputs[i]] = results[i];
    tag(results.front(), std::string(op.tag));
    return "";
}

}  // namespace fact::match

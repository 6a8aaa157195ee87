// What looks along rows of a value, as a kernel says it.
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
    // Torch rounds here, and what a reduction reads is kept in memory: no wider than torch's.
    const DType rounded = graph_[std::get<ValueId>(node.inputs.front().value)].type->dtype;
    if (rounded != DType::f32 && info(rounded).floating) x = build_.cast(rounded, x);
    const auto dims = forms_->look_along(x, region_.anchor.space.groups().at(id));
    for (const auto& group : dims) {
        if (group.empty() && !op.reduces)
            return fmt::format("{} looks along a single element", node.name);
        if (group.size() > 1 && dims.size() > 1)
            return fmt::format("{} counts along a dimension in parts", node.name);
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

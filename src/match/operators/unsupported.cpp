// Why a kernel cannot read a value or compute a pointwise operator; declared in pointwise.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "match/operators/pointwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

bool is_plain(const graph::Argument& argument) {
    return !std::holds_alternative<graph::OpaqueArg>(argument) &&
           !std::holds_alternative<std::vector<ValueId>>(argument) &&
           !std::holds_alternative<std::vector<std::optional<ValueId>>>(argument);
}

}  // namespace

std::string unsupported_type(const Graph& graph, ValueId id, bool result) {
    const auto& type = graph[id].type;
    if (!type) return fmt::format("{} is not a tensor", graph[id].name);
    if (type->dynamic) return fmt::format("the extents of {} vary at run time", graph[id].name);
    if (type->dtype == DType::f64)
        return fmt::format("{} is f64, which kernels do not support", graph[id].name);
    // Integers wrap around in torch; the language has no such arithmetic.
    if (result && !info(type->dtype).floating && type->dtype != DType::boolean)
        return fmt::format("it computes integers ({})", info(type->dtype).name);
    return "";
}

std::string unsupported_pointwise(const Graph& graph, const Node& node) {
    const PointwiseOp* op = find_pointwise(node);
    if (!op) return fmt::format("{} is not pointwise", node.target);
    if (node.outputs.size() != 1) return "it has several results";
    for (const auto& argument : node.inputs) {
        if (!is_plain(argument.value))
            return fmt::format("its argument {} cannot be written in a kernel", argument.name);
        if (const auto* value = std::get_if<double>(&argument.value); value && std::isnan(*value))
            return fmt::format("its argument {} is NaN", argument.name);
        if (const auto* value = std::get_if<ValueId>(&argument.value)) {
            if (std::ranges::find(op->tensors, argument.name) == op->tensors.end())
                return fmt::format("its argument {} is a tensor, not a number", argument.name);
            if (std::string reason = unsupported_type(graph, *value, false); !reason.empty())
                return reason;
            if (graph[*value].type->device != graph[node.outputs.front()].type->device)
                return "it moves data between devices";
        }
    }
    for (const auto& argument : node.inputs)
        if (const auto* number = std::get_if<std::int64_t>(&argument.value))
            if (*number != static_cast<std::int32_t>(*number))
                return fmt::format("its argument {} does not fit in 32 bits", argument.name);
    const ValueId result = node.outputs.front();
    if (std::string reason = unsupported_type(graph, result, true); !reason.empty()) return reason;
    const bool logical = op->tag.empty() || op->tag == "mask";
    const bool gives_bool = graph[result].type->dtype == DType::boolean;
    if (node.target.starts_with("aten.bitwise_") && !gives_bool)
        return "bitwise operators are supported on bool only";
    if (gives_bool && !logical) return "arithmetic on bool is left to torch";
    return "";
}

}  // namespace fact::match

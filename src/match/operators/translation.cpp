#include "match/operators/translation.h"

#include <fmt/format.h>

#include "support/result.h"

namespace fact::match {

using graph::ValueId;
using ir::ExprId;

ExprId Translation::operand(const std::string& name) {
    const auto* argument = graph::find_argument(node_, name);
    if (!argument) throw InternalError(fmt::format("{} has no argument {}", node_.target, name));
    if (const auto* value = std::get_if<ValueId>(argument)) return load_(name, *value);
    return build.literal(number(name, 0));
}

std::pair<ExprId, ExprId> Translation::aligned(ExprId a, ExprId b) {
    std::vector<ExprId> operands{a, b};
    align_(operands);
    return {operands[0], operands[1]};
}

ExprId Translation::combine(ir::BinaryOp op, ExprId a, ExprId b) {
    const auto [left, right] = aligned(a, b);
    return build.binary(op, left, right);
}

ExprId Translation::stored(ExprId losses) {
    kernel.exprs[ir::index(losses)].stored = true;
    return losses;
}

bool Translation::has(std::string_view name) const {
    const auto* argument = graph::find_argument(node_, name);
    return argument && !std::holds_alternative<graph::None>(*argument);
}

bool Translation::is_number(std::string_view name) const {
    const auto* argument = graph::find_argument(node_, name);
    return argument && !std::holds_alternative<ValueId>(*argument);
}

double Translation::number(std::string_view name, double fallback) const {
    const auto* argument = graph::find_argument(node_, name);
    if (!argument) return fallback;
    if (const auto* value = std::get_if<bool>(argument)) return *value ? 1 : 0;
    if (const auto* value = std::get_if<std::int64_t>(argument)) return static_cast<double>(*value);
    if (const auto* value = std::get_if<double>(argument)) return *value;
    return fallback;
}

std::string Translation::text(std::string_view name, std::string_view fallback) const {
    const auto* argument = graph::find_argument(node_, name);
    const auto* value = argument ? std::get_if<std::string>(argument) : nullptr;
    return value ? *value : std::string(fallback);
}

DType Translation::result_type() const {
    return graph_[node_.outputs.front()].type->dtype;
}

DType Translation::type_of(std::string_view name) const {
    const auto* argument = graph::find_argument(node_, name);
    const auto* value = argument ? std::get_if<ValueId>(argument) : nullptr;
    return value ? graph_[*value].type->dtype : DType::f32;
}

}  // namespace fact::match

#include "match/attention/write_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/number.h"
#include "match/axes/forms.h"
#include "match/operators/pointwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ir::ExprId;

namespace {

using Dims = std::vector<ir::DimId>;

bool holds(const Dims& dims, ir::DimId dim) {
    return std::ranges::find(dims, dim) != dims.end();
}

// Operators that give one of their operands back, or a bool.
bool is_exact(const Node& node) {
    for (const std::string_view name : {"where", "masked_fill", "clone", "_to_copy"})
        if (node.target.starts_with(fmt::format("aten.{}.", name))) return true;
    return false;
}

class MaskWriter {
  public:
    MaskWriter(const Graph& graph, ir::Kernel& kernel, const Dims& order)
        : graph_(graph), kernel_(kernel), build_(kernel), order_(order), forms_(kernel, none_) {}

    void set(ValueId value, ExprId expr) { values_[value] = expr; }
    ExprId get(ValueId value) const { return values_.at(value); }
    void number(ValueId value, double number) {
        const bool is_bool = graph_[value].type->dtype == DType::boolean;
        set(value, build_.literal(number, is_bool ? DType::boolean : DType::f32));
        numbers_[value] = number;
    }

    void write(NodeId id) {
        const Node& node = graph_[id];
        const ValueId output = node.outputs.front();
        const PointwiseOp* op = find_pointwise(node);
        const auto reads = graph::tensor_inputs(node);
        if (!op) {  // a view: dimensions are found by name
            set(output, get(reads.front()));
            return;
        }
        std::vector<ExprId> operands;
        for (const ValueId value : reads) operands.push_back(get(value));
        bring_together(kernel_, operands, order_);
        std::map<ValueId, ExprId> given;
        for (std::size_t i = 0; i < reads.size(); ++i) given[reads[i]] = operands[i];
        Translation translation(graph_, node, kernel_, forms_.aligner(),
                                [&](const std::string&, ValueId value) { return given.at(value); });
        set(output, rounded(node, positive(op->build(translation))));
    }

  private:
    // A choice by what is not hidden, instead of by what is.
    ExprId positive(ExprId x) {
        const auto* select = std::get_if<ir::Select>(&kernel_[x].node);
        if (!select) return x;
        const auto [condition, a, b] = *select;
        const auto* unary = std::get_if<ir::Unary>(&kernel_[condition].node);
        if (!unary || unary->op != ir::UnaryOp::logical_not) return x;
        return build_.select(unary->x, b, a);
    }

    ExprId rounded(const Node& node, ExprId x) {
        const DType dtype = graph_[node.outputs.front()].type->dtype;
        if (!info(dtype).floating || dtype == DType::f32 || kernel_[x].type.dtype == dtype)
            return x;
        return is_exact(node) && holds_numbers(node, dtype) ? x : build_.cast(dtype, x);
    }

    // Whether the type holds the numbers among the node's arguments.
    bool holds_numbers(const Node& node, DType dtype) const {
        const auto held = [&](double number) { return ir::round_to(number, dtype) == number; };
        return std::ranges::all_of(node.inputs, [&](const auto& argument) {
            const auto* number = std::get_if<double>(&argument.value);
            const auto* whole = std::get_if<std::int64_t>(&argument.value);
            const auto* value = std::get_if<ValueId>(&argument.value);
            const auto known = value ? numbers_.find(*value) : numbers_.end();
            return (!number || held(*number)) && (!whole || held(static_cast<double>(*whole))) &&
                   (known == numbers_.end() || held(known->second));
        });
    }

    const Graph& graph_;
    ir::Kernel& kernel_;
    ir::Builder build_;
    const Dims& order_;
    const Layout none_;
    Forms forms_;
    std::map<ValueId, ExprId> values_;
    std::map<ValueId, double> numbers_;
};

}  // namespace

void bring_together(ir::Kernel& kernel, std::vector<ExprId>& operands, const Dims& order) {
    Dims all;
    for (const ir::DimId dim : order)
        if (std::ranges::any_of(operands,
                                [&](ExprId x) { return holds(kernel[x].type.dims, dim); }))
            all.push_back(dim);
    const auto rank = [&](ExprId x) { return kernel[x].type.dims.size(); };
    const auto most = std::ranges::max_element(operands, {}, rank);
    if (most != operands.end() && rank(*most) < all.size())
        *most = ir::Builder(kernel).expand(*most, all);
}

Result<ExprId> write_mask(const Graph& graph, ir::Kernel& kernel, const MaskSource& source,
                          ValueId mask, const Dims& order,
                          const std::function<Result<ExprId>(const Placed&)>& load) {
    MaskWriter writer(graph, kernel, order);
    for (const Placed& part : source.reads) {
        const auto read = load(part);
        if (!read) return read.error();
        writer.set(part.value, *read);
    }
    for (const auto& [value, number] : source.numbers) writer.number(value, number);
    for (const NodeId id : source.nodes) writer.write(id);
    return writer.get(mask);
}

}  // namespace fact::match

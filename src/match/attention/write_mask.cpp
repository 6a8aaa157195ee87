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

// Operators whose result is one of their operands or arguments, possibly cast: rounding that
// result changes nothing unless an argument does not fit the type.
bool is_exact(const Node& node) {
    for (const std::string_view name : {"where", "masked_fill", "clone", "_to_copy"})
        if (node.target.starts_with(fmt::format("aten.{}.", name))) return true;
    return false;
}

class MaskWriter {
  public:
    MaskWriter(const Graph& graph, ir::Kernel& kernel, const Dims& order)
        : graph_(graph),
          kernel_(kernel),
          build_(kernel),
          order_(order),
          forms_(kernel, empty_layout_) {}

    void set(ValueId value, ExprId expr) { values_[value] = expr; }
    ExprId get(ValueId value) const { return values_.at(value); }
    void set_number(ValueId value, double number) {
        const bool is_bool = graph_[value].type->dtype == DType::boolean;
        set(value, build_.literal(number, is_bool ? DType::boolean : DType::f32));
        numbers_[value] = number;
    }

    void write(NodeId id) {
        const Node& node = graph_[id];
        const ValueId output = node.outputs.front();
        const PointwiseOp* op = find_pointwise(node);
        const auto reads = graph::tensor_inputs(node);
        if (!op) {  // a view: the kernel's dimensions have names and need no reordering
            set(output, get(reads.front()));
            return;
        }
        std::vector<ExprId> operands;
        for (const ValueId value : reads) operands.push_back(get(value));
        expand_one_operand(kernel_, operands, order_);
        std::map<ValueId, ExprId> operand_of;
        for (std::size_t i = 0; i < reads.size(); ++i) operand_of[reads[i]] = operands[i];
        Translation translation(
            graph_, node, kernel_, forms_.aligner(),
            [&](const std::string&, ValueId value) { return operand_of.at(value); });
        set(output, round_as_torch(node, without_negation(op->build(translation))));
    }

  private:
    // select(not c, a, b) as select(c, b, a).
    ExprId without_negation(ExprId x) {
        const auto* select = std::get_if<ir::Select>(&kernel_[x].node);
        if (!select) return x;
        const auto [condition, a, b] = *select;
        const auto* unary = std::get_if<ir::Unary>(&kernel_[condition].node);
        if (!unary || unary->op != ir::UnaryOp::logical_not) return x;
        return build_.select(unary->x, b, a);
    }

    ExprId round_as_torch(const Node& node, ExprId x) {
        const DType dtype = graph_[node.outputs.front()].type->dtype;
        if (!info(dtype).floating || dtype == DType::f32 || kernel_[x].type.dtype == dtype)
            return x;
        return is_exact(node) && represents_numbers(node, dtype) ? x : build_.cast(dtype, x);
    }

    // Whether the type represents all numbers among the node's arguments exactly.
    bool represents_numbers(const Node& node, DType dtype) const {
        const auto exact = [&](double number) { return ir::round_to(number, dtype) == number; };
        return std::ranges::all_of(node.inputs, [&](const auto& argument) {
            const auto* number = std::get_if<double>(&argument.value);
            const auto* integer = std::get_if<std::int64_t>(&argument.value);
            const auto* value = std::get_if<ValueId>(&argument.value);
            const auto known = value ? numbers_.find(*value) : numbers_.end();
            return (!number || exact(*number)) &&
                   (!integer || exact(static_cast<double>(*integer))) &&
                   (known == numbers_.end() || exact(known->second));
        });
    }

    const Graph& graph_;
    ir::Kernel& kernel_;
    ir::Builder build_;
    const Dims& order_;
    const Layout empty_layout_;
    Forms forms_;
    std::map<ValueId, ExprId> values_;
    std::map<ValueId, double> numbers_;
};

}  // namespace

void expand_one_operand(ir::Kernel& kernel, std::vector<ExprId>& operands, const Dims& order) {
    Dims all;
    for (const ir::DimId dim : order)
        if (std::ranges::any_of(operands,
                                [&](ExprId x) { return holds(kernel[x].type.dims, dim); }))
            all.push_back(dim);
    const auto rank = [&](ExprId x) { return kernel[x].type.dims.size(); };
    const auto widest = std::ranges::max_element(operands, {}, rank);
    if (widest != operands.end() && rank(*widest) < all.size())
        *widest = ir::Builder(kernel).expand(*widest, all);
}

Result<ExprId> write_mask(const Graph& graph, ir::Kernel& kernel, const MaskSource& source,
                          ValueId mask, const Dims& order,
                          const std::function<Result<ExprId>(const PlacedTensor&)>& load) {
    MaskWriter writer(graph, kernel, order);
    for (const PlacedTensor& part : source.reads) {
        const auto read = load(part);
        if (!read) return read.error();
        writer.set(part.value, *read);
    }
    for (const auto& [value, number] : source.numbers) writer.set_number(value, number);
    for (const NodeId id : source.nodes) writer.write(id);
    return writer.get(mask);
}

}  // namespace fact::match

// Writes operators that take halves of a value, compute with them and join them. Functions of
// KernelWriter (kernel_writer.h).
#include <algorithm>

#include "match/formulas/halves.h"
#include "match/text/kernel_writer.h"

namespace fact::match {

using graph::NodeId;
using graph::ValueId;
using ir::ExprId;

// The dimension of two elements along which the node takes or joins halves. Brings `x` into a form
// that has this dimension.
ir::DimId KernelWriter::halved_dim(NodeId id, ExprId& x) {
    const auto dims = forms_->expose_axes(x, region_.anchor.space.groups().at(id)).front();
    if (dims.size() != 1) throw InternalError("halves need one dimension of two elements");
    return dims.front();
}

// Writes an operator that reads a half, once for each of the two places.
void KernelWriter::write_half(NodeId id, const PointwiseOp* op) {
    const graph::Node& node = graph_[id];
    const ValueId output = node.outputs.front();
    if (!op) {
        halves_[output] = halves_.at(graph::tensor_inputs(node).front());
        return;
    }
    for (const int place : {0, 1}) {
        auto operands = operands_of(id, place);
        align(operands);
        halves_[output][static_cast<std::size_t>(place)] = build(node, *op, operands);
    }
}

// At its own place a half is the value itself, at the other place the flipped value.
void KernelWriter::write_halving(NodeId id, const graph::Halving& halving) {
    ExprId x = values_.at(halving.source);
    const ir::DimId dim = halved_dim(id, x);
    if (kernel_[x].name.empty()) kernel_.exprs[ir::index(x)].name = "h";  // as in heads
    const ExprId flipped = build_.flip(x, dim);
    for (std::size_t i = 0; i < halving.halves.size(); ++i) {
        const ValueId value = graph_[id].outputs[i];
        halves_[value] = halving.halves[i] == 0 ? Halves{x, flipped} : Halves{flipped, x};
        derived_.insert(value);
    }
}

void KernelWriter::write_joining(NodeId id, const graph::Joining& joining) {
    ExprId first = halves_.at(joining.halves[0])[0], second = halves_.at(joining.halves[1])[1];
    const ir::DimId dim = halved_dim(id, first);
    halved_dim(id, second);
    const ExprId result = join_halves(kernel_, first, second, dim);
    values_[graph_[id].outputs.front()] = result;
    tag(result, "rotary");
    joins_ = true;
}

// Leaves the sums and products of a rotation out of the kernel's name, and names its factors.
void KernelWriter::name_rotary() {
    for (std::string& text : tags_)
        if (text == "mul" || text == "add" || text == "sub" || text == "neg") text.clear();
    const auto factors = rotary_factors(kernel_);
    for (std::size_t i = num_operands_; i < kernel_.params.size(); ++i) {
        const auto& dims = kernel_.params[i].type.dims;
        const bool has_columns = std::ranges::find(dims, matrix_.n) != dims.end();
        // After a product, the columns are those of all heads; a sine or cosine runs along one
        // head.
        if (factors[i].empty() || (has_columns && num_operands_ == 2)) continue;
        kernel_.params[i].name =
            kernel_.exprs[ir::index(build_.param(static_cast<std::uint32_t>(i)))].name =
                params_[i].tensor = unique(factors[i]);
    }
}

}  // namespace fact::match

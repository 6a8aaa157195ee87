// Writes the product of a region, or its two products of one matrix. Functions of KernelWriter
// (kernel_writer.h).
#include <algorithm>

#include "match/text/kernel_writer.h"

namespace fact::match {

using graph::NodeId;
using ir::BinaryOp;
using ir::ExprId;

bool KernelWriter::is_cut(NodeId node) const {
    const auto& cut = region_.anchor.cut;
    return cut && std::ranges::find(cut->nodes, node) != cut->nodes.end();
}

void KernelWriter::start_fold() {
    std::map<std::uint32_t, ExprId> vectors;
    for (const auto& [param, vector] : region_.fold->vectors)
        vectors[param] = load(param_of(region_.fold->norm, vector.argument));
    fold_.emplace(kernel_, *region_.fold, load(0), forms_->dim(layout_.k), std::move(vectors));
}

void KernelWriter::write_product() {
    if (region_.fold) start_fold();
    const std::uint32_t first = layout_.swapped ? 1 : 0;  // the parameter on the left
    const ExprId acc = multiply(first, 1 - first, "acc");
    ExprId result = scaled(acc, region_.anchor.alpha);
    if (result != acc) tag(result, "scale");
    for (const auto& side : region_.sides)
        if (side.node == region_.anchor.node && side.argument != kSecondWeight &&
            side.argument != kSecondBias)
            result = add_to(result, load(param_of(side.node, side.argument)), region_.anchor.beta);
    values_[region_.anchor.result] = result;
    if (region_.anchor.cut) write_cut(*region_.anchor.cut);
}

// Writes the second half of a linear cut in two, and the gate if aten.glu cuts it.
void KernelWriter::write_cut(const Anchor::Cut& cut) {
    const NodeId linear = region_.anchor.node;
    ExprId second = multiply(0, param_of(linear, kSecondWeight), "acc2");
    if (side_of_.contains({linear, kSecondBias}))
        second = add_to(second, load(param_of(linear, kSecondBias)), 1);
    if (cut.second) {
        values_[*cut.second] = second;
        derived_.insert(*cut.second);
        return;
    }
    const ExprId gate = build_.unary(ir::UnaryOp::sigmoid, second);
    const ExprId gated = build_.binary(BinaryOp::mul, values_.at(cut.first), gate);
    values_[cut.first] = gated;
    tag(gated, "glu");
}

// A second linear of the same input.
void KernelWriter::write_second_linear(NodeId id) {
    ExprId result = multiply(0, param_of(id, "weight"), "acc2");
    for (const auto& side : region_.sides)
        if (side.node == id && side.argument != "weight")
            result = add_to(result, load(param_of(id, side.argument)), 1);
    values_[graph_[id].outputs.front()] = result;
    derived_.insert(graph_[id].outputs.front());
}

ExprId KernelWriter::multiply(std::uint32_t a, std::uint32_t b, const std::string& name) {
    // The layout's order is batches, M, N, K, but ir::Product takes b as [..., K, N].
    auto b_dims = forms_->sorted(kernel_.params[b].type.dims);
    std::swap(b_dims[b_dims.size() - 2], b_dims.back());
    const auto precision = allow_tf32_ && kernel_.params[0].type.dtype == DType::f32
                               ? ir::Precision::tf32
                               : ir::Precision::exact;
    const ExprId weight = build_.param(b);
    const ExprId permuted = build_.permute(fold_ ? fold_->with_gain(weight) : weight, b_dims);
    const ExprId product = build_.product(load(a), permuted, precision);
    kernel_.exprs[ir::index(product)].name = name;
    return fold_ ? fold_->normalised(product, weight) : product;
}

ExprId KernelWriter::scaled(ExprId x, double factor) {
    return factor == 1 ? x : build_.binary(BinaryOp::mul, x, build_.literal(factor));
}

ExprId KernelWriter::add_to(ExprId x, ExprId addend, double factor) {
    std::vector<ExprId> both{x, scaled(addend, factor)};
    forms_->align(both);
    const ExprId sum = build_.binary(BinaryOp::add, both[0], both[1]);
    tag(sum, combination_tag("add", matrix_, kernel_[addend].type.dims));
    return sum;
}

}  // namespace fact::match

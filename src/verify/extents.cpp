#include "verify/extents.h"

#include <algorithm>
#include <array>

#include "graph/arguments.h"
#include "graph/operators.h"
#include "graph/products.h"

namespace fact::verify {

using graph::Node;
using graph::ValueId;

std::optional<graph::Halving> both_halves(const graph::Graph& graph, const Node& node) {
    const auto own = graph::read_halving(graph, node);
    if (!own || own->place == graph::HalfPlace::single) return std::nullopt;
    if (own->halves.size() == 2) return own;
    for (const Node& other : graph.nodes) {
        const auto halving = graph::read_halving(graph, other);
        if (halving && halving->source == own->source && halving->dim == own->dim &&
            halving->place == own->place && halving->halves.front() != own->halves.front())
            return own;
    }
    return std::nullopt;
}

std::optional<ProductOperands> product_operands(const Node& node) {
    const auto* row = graph::find_product(node);
    if (!row || row->layout == graph::SecondOperand::other) return std::nullopt;
    const auto a = graph::tensor_argument(node, row->a), b = graph::tensor_argument(node, row->b);
    if (!a || !b) return std::nullopt;
    auto addend = row->addend.empty() ? std::nullopt : graph::tensor_argument(node, row->addend);
    return ProductOperands{*a, *b, row->layout == graph::SecondOperand::nk, addend};
}

bool is_convolution(const Node& node) {
    const auto* row = graph::find_product(node);
    return row && row->form == graph::ProductForm::convolution;
}

ExtentClasses::ExtentClasses(const graph::Graph& graph) : graph_(graph) {
    for (const auto& value : graph.values) {
        first_.push_back(static_cast<int>(parent_.size()));
        const auto dims = value.type ? value.type->sizes.size() : 0;
        for (std::size_t d = 0; d < dims; ++d) parent_.push_back(static_cast<int>(parent_.size()));
    }
    fixed_.assign(parent_.size(), false);
    for (const auto& node : graph.nodes) visit(node);
}

int ExtentClasses::rank(ValueId value) const {
    return static_cast<int>(graph_[value].type->sizes.size());
}

std::int64_t ExtentClasses::extent(ValueId value, int dim) const {
    return graph_[value].type->sizes[dim];
}

int ExtentClasses::along(const Node& node, int rank, std::int64_t default_dim) {
    const auto dim = graph::int_argument(node, "dim").value_or(default_dim);
    return static_cast<int>(dim < 0 ? dim + rank : dim);
}

int ExtentClasses::find(int element) const {
    while (parent_[element] != element) element = parent_[element];
    return element;
}

void ExtentClasses::tie(ValueId a, int a_dim, ValueId b, int b_dim) {
    const int x = find(first_[index(a)] + a_dim), y = find(first_[index(b)] + b_dim);
    parent_[x] = y;
    fixed_[y] = fixed_[y] || fixed_[x];
}

void ExtentClasses::fix_all(const Node& node) {
    auto values = graph::tensor_inputs(node);
    values.insert(values.end(), node.outputs.begin(), node.outputs.end());
    for (const auto value : values)
        if (graph_[value].type)
            for (int d = 0; d < rank(value); ++d) fix(value, d);
}

void ExtentClasses::visit(const Node& node) {
    auto touched = graph::tensor_inputs(node);
    touched.insert(touched.end(), node.outputs.begin(), node.outputs.end());
    const bool typed =
        std::ranges::all_of(touched, [&](ValueId v) { return graph_[v].type.has_value(); });
    if (typed && (visit_halving(node) || visit_split(node))) return;
    if (!typed || node.returns_list) return fix_all(node);
    if (visit_rowwise(node) || visit_attention(node) || visit_einsum(node) ||
        visit_convolution(node) || visit_windows(node))
        return;
    if (is_convolution(node)) return fix_all(node);  // not a plain one of one tap
    if (node.outputs.size() != 1) return fix_all(node);
    if (const auto product = product_operands(node)) {
        visit_product(node, product->a, product->b, product->b_is_nk);
        if (product->addend) {
            const auto out = node.outputs[0];
            const int shift = rank(out) - rank(*product->addend);
            for (int d = 0; d < rank(*product->addend); ++d)
                if (extent(*product->addend, d) == extent(out, d + shift))
                    tie(*product->addend, d, out, d + shift);
        }
        return;
    }
    if (graph::is_reshape(node)) return visit_view(node);
    if (node.target == "aten.permute.default") {
        const auto* dims = graph::find_argument(node, "dims");
        const auto* order = dims ? std::get_if<std::vector<std::int64_t>>(dims) : nullptr;
        const auto in = graph::tensor_argument(node, "self");
        if (!order || !in) return fix_all(node);
        for (int d = 0; d < rank(node.outputs[0]); ++d) {
            const auto from = (*order)[d] < 0 ? (*order)[d] + rank(*in) : (*order)[d];
            tie(node.outputs[0], d, *in, static_cast<int>(from));
        }
        return;
    }
    if (visit_part(node)) return;
    if (node.target.starts_with("aten.new_")) return;  // only the type comes from its operand
    visit_pointwise(node, graph::tensor_inputs(node));
}

// Dimensions match from the right, as in broadcasting. If an input does not broadcast, the operator
// is not understood and all extents are fixed.
void ExtentClasses::visit_pointwise(const Node& node, const std::vector<ValueId>& inputs) {
    const auto out = node.outputs[0];
    const auto fits = [&](ValueId in) {
        const int shift = rank(out) - rank(in);
        if (shift < 0) return false;
        for (int d = 0; d < rank(in); ++d)
            if (extent(in, d) != 1 && extent(in, d) != extent(out, d + shift)) return false;
        return true;
    };
    if (!std::ranges::all_of(inputs, fits)) return fix_all(node);
    for (const auto in : inputs) {
        const int shift = rank(out) - rank(in);
        for (int d = 0; d < rank(in); ++d)
            if (extent(in, d) != 1 || extent(out, d + shift) == 1) tie(in, d, out, d + shift);
    }
}

// Walks both shapes in step. A dimension that corresponds to one is tied to it; one that
// corresponds to several is tied to the outermost of them, and the inner ones are fixed. Where
// several correspond to several, all are fixed.
void ExtentClasses::visit_view(const Node& node) {
    const auto in = graph::tensor_inputs(node).at(0), out = node.outputs[0];
    const auto significant = [&](ValueId value) {
        std::vector<int> dims;
        for (int d = 0; d < rank(value); ++d)
            if (extent(value, d) != 1) dims.push_back(d);
        return dims;
    };
    const auto in_dims = significant(in), out_dims = significant(out);
    std::size_t i = 0, o = 0;
    while (i < in_dims.size() && o < out_dims.size()) {
        std::size_t i_end = i + 1, o_end = o + 1;
        auto in_size = extent(in, in_dims[i]), out_size = extent(out, out_dims[o]);
        while (in_size != out_size) {
            if (in_size < out_size && i_end < in_dims.size())
                in_size *= extent(in, in_dims[i_end++]);
            else if (out_size < in_size && o_end < out_dims.size())
                out_size *= extent(out, out_dims[o_end++]);
            else
                return fix_all(node);
        }
        tie(in, in_dims[i], out, out_dims[o]);
        if (i_end - i > 1 && o_end - o > 1) fix(in, in_dims[i]);
        for (auto k = i + 1; k < i_end; ++k) fix(in, in_dims[k]);
        for (auto k = o + 1; k < o_end; ++k) fix(out, out_dims[k]);
        i = i_end;
        o = o_end;
    }
    if (i != in_dims.size() || o != out_dims.size()) fix_all(node);
}

void ExtentClasses::visit_product(const Node& node, ValueId a, ValueId b, bool b_is_nk) {
    const auto out = node.outputs[0];
    const int ra = rank(a), rb = rank(b), ro = rank(out);
    if (ra < 2 || rb < 2 || ro != std::max(ra, rb)) return fix_all(node);
    const int b_k = b_is_nk ? rb - 1 : rb - 2, b_n = b_is_nk ? rb - 2 : rb - 1;
    tie(a, ra - 1, b, b_k);
    tie(a, ra - 2, out, ro - 2);
    tie(b, b_n, out, ro - 1);
    for (const auto& [in, r] : {std::pair{a, ra}, std::pair{b, rb}})
        for (int d = 0; d < r - 2; ++d)
            if (extent(in, d) == extent(out, d + ro - r)) tie(in, d, out, d + ro - r);
}

}  // namespace fact::verify

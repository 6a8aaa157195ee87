// Extents across operators that take parts of tensors or join them: members of ExtentClasses
// (verify/extents.h).
#include <algorithm>

#include "graph/arguments.h"
#include "verify/extents.h"

namespace fact::verify {

using graph::Node;
using graph::ValueId;

bool ExtentClasses::visit_part(const Node& node) {
    if (node.target == "aten.slice.Tensor")
        visit_slice(node);
    else if (node.target == "aten.cat.default" || node.target == "aten.stack.default")
        visit_joined(node);
    else if (node.target == "aten.index.Tensor")
        visit_lookup(node);
    else if (node.target == "aten.select.int")
        visit_selected(node);
    else if (node.target == "aten.gather.default")
        visit_gathered(node);
    else if (node.target == "aten.diff.default")
        visit_differences(node);
    else
        return false;
    return true;
}

void ExtentClasses::visit_slice(const Node& node) {
    const auto in = graph::tensor_inputs(node).at(0), out = node.outputs[0];
    const int dim = along(node, rank(in));
    for (int d = 0; d < rank(in); ++d) {
        if (d != dim) {
            tie(in, d, out, d);
            continue;
        }
        const bool leading = graph::int_argument(node, "start").value_or(0) == 0 &&
                             graph::int_argument(node, "step").value_or(1) == 1 &&
                             graph::int_argument(node, "end") == extent(out, d);
        // The first element exists whatever the extent is; the first few may not.
        if (leading && extent(out, d) == 1) continue;
        fix(in, d);
        // The length of a leading part may change: resize.cpp adapts the slice's end.
        if (!leading || extent(in, d) == extent(out, d)) fix(out, d);
    }
}

// A half is proportional to the whole.
bool ExtentClasses::visit_halving(const Node& node) {
    if (node.target != "aten.glu.default" && !both_halves(graph_, node)) return false;
    const auto in = graph::tensor_inputs(node).at(0);
    for (const auto out : node.outputs)
        for (int d = 0; d < rank(in); ++d) tie(in, d, out, d);
    return true;
}

// Several parts along one dimension; the results of unbind lack that dimension.
bool ExtentClasses::visit_split(const Node& node) {
    const bool unbound = node.target == "aten.unbind.int";
    if (!unbound && node.target != "aten.split.Tensor" && node.target != "aten.chunk.default" &&
        node.target != "aten.split_with_sizes.default")
        return false;
    const auto in = graph::tensor_inputs(node).at(0);
    const int dim = along(node, rank(in));
    fix(in, dim);
    for (const auto out : node.outputs)
        for (int d = 0; d < rank(in); ++d) {
            if (d != dim)
                tie(in, d, out, unbound && d > dim ? d - 1 : d);
            else if (!unbound)
                fix(out, d);
        }
    return true;
}

void ExtentClasses::visit_selected(const Node& node) {
    const auto in = graph::tensor_inputs(node).at(0), out = node.outputs[0];
    const int dim = along(node, rank(in));
    fix(in, dim);
    for (int d = 0; d < rank(in); ++d)
        if (d != dim) tie(in, d, out, d > dim ? d - 1 : d);
}

// Takes elements by their position along one dimension, whose extent is fixed.
void ExtentClasses::visit_gathered(const Node& node) {
    const auto in = graph::tensor_argument(node, "self"),
               positions = graph::tensor_argument(node, "index");
    const auto out = node.outputs[0];
    if (!in || !positions || rank(*in) != rank(*positions)) return fix_all(node);
    const int dim = along(node, rank(*in));
    fix(*in, dim);
    for (int d = 0; d < rank(out); ++d) {
        tie(*positions, d, out, d);
        if (d == dim) continue;
        if (extent(*in, d) != extent(*positions, d)) return fix_all(node);
        tie(*in, d, out, d);
    }
}

// The extent of the dimension along which parts are joined is fixed.
void ExtentClasses::visit_joined(const Node& node) {
    const auto out = node.outputs[0];
    const int dim = along(node, rank(out));
    const bool stacked = node.target == "aten.stack.default";
    const auto parts = graph::tensor_inputs(node);
    for (const auto part : parts)
        if (rank(part) != rank(out) - (stacked ? 1 : 0)) return fix_all(node);
    fix(out, dim);
    for (const auto part : parts)
        for (int d = 0; d < rank(part); ++d) {
            if (d == dim && !stacked)
                fix(part, d);
            else
                tie(part, d, out, stacked && d >= dim ? d + 1 : d);
        }
}

// x[i, j]: the indices are combined like operands of a pointwise operator. An index as long as the
// dimension it selects from lists its positions (a range, in masks), and changes with it.
void ExtentClasses::visit_lookup(const Node& node) {
    auto indices = graph::tensor_inputs(node);
    const ValueId from = indices.front();
    indices.erase(indices.begin());
    if (static_cast<int>(indices.size()) != rank(from)) return fix_all(node);
    visit_pointwise(node, indices);
    for (int d = 0; d < rank(from); ++d) {
        const ValueId at = indices[static_cast<std::size_t>(d)];
        std::vector<int> wide;
        for (int e = 0; e < rank(at); ++e)
            if (extent(at, e) != 1) wide.push_back(e);
        if (wide.size() == 1 && extent(at, wide.front()) == extent(from, d))
            tie(from, d, at, wide.front());
        else
            fix(from, d);
    }
}

// Differences of neighbours. With a value prepended there are as many differences as elements.
void ExtentClasses::visit_differences(const Node& node) {
    const auto reads = graph::tensor_inputs(node);
    const ValueId in = reads.front(), out = node.outputs[0];
    const int dim = along(node, rank(in), -1);
    if (extent(in, dim) != extent(out, dim)) return fix_all(node);
    for (const ValueId read : reads)
        for (int d = 0; d < rank(in); ++d)
            if (d != dim || read == in) tie(read, d, out, d);
    for (const ValueId read : reads)
        if (read != in) fix(read, dim);
}

}  // namespace fact::verify

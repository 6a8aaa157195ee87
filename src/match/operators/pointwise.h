// The table of torch's pointwise operators and their translations to the kernel language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ir/kernel.h"
#include "match/operators/translation.h"

namespace fact::match {

struct PointwiseOp {
    std::string_view target;  // "aten.add.Tensor"
    // Its part in a kernel's name; "" for comparisons, logic, copies and constants. Only operators
    // with the tag "" or "mask" may have a bool result. naming.cpp calls the side operands of
    // operators without a tag masks.
    std::string_view tag;
    std::vector<std::string_view> tensors;  // arguments that may be tensors
    ir::ExprId (*build)(Translation&);
};

// The table's row for a node, or nullptr.
const PointwiseOp* find_pointwise(const graph::Node& node);

// Why a kernel cannot read the value or, with `result`, compute it; or "". Defined in
// unsupported.cpp, like unsupported_pointwise.
std::string unsupported_type(const graph::Graph& graph, graph::ValueId value, bool result);

// Why a kernel cannot compute the node (not pointwise, an unsupported element type or argument), or
// "".
std::string unsupported_pointwise(const graph::Graph& graph, const graph::Node& node);

}  // namespace fact::match

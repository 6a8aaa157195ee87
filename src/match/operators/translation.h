// What the translation of one node into a kernel needs: its operands as expressions and its other
// arguments.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "ir/kernel.h"

namespace fact::match {

class Translation {
  public:
    // Load returns the expression of a tensor argument, given its name and value; Align brings
    // operands to common dimensions.
    using Load = std::function<ir::ExprId(const std::string&, graph::ValueId)>;
    using Align = std::function<void(std::vector<ir::ExprId>&)>;

    Translation(const graph::Graph& graph, const graph::Node& node, ir::Kernel& into, Align align,
                Load load)
        : kernel(into),
          build(into),
          graph_(graph),
          node_(node),
          align_(std::move(align)),
          load_(std::move(load)) {}

    ir::Kernel& kernel;
    ir::Builder build;

    // The argument, a tensor or a number, as an expression.
    ir::ExprId operand(const std::string& name);
    // A binary operator on values whose dimensions may have different forms.
    ir::ExprId combine(ir::BinaryOp op, ir::ExprId a, ir::ExprId b);
    // Two values in forms that can be combined.
    std::pair<ir::ExprId, ir::ExprId> aligned(ir::ExprId a, ir::ExprId b);
    // Keeps a value for each sample in memory: reduced at once, the long sum over all samples would
    // be cut into parts, and with it every reduction before.
    ir::ExprId stored(ir::ExprId losses);
    bool has(std::string_view name) const;        // neither absent nor None
    bool is_number(std::string_view name) const;  // given, and not as a tensor
    // `fallback` if the argument is absent or of another kind.
    double number(std::string_view name, double fallback) const;
    std::string text(std::string_view name, std::string_view fallback) const;
    DType result_type() const;
    // The argument's element type; numbers count as f32.
    DType type_of(std::string_view name) const;

  private:
    const graph::Graph& graph_;
    const graph::Node& node_;
    Align align_;
    Load load_;
};

}  // namespace fact::match

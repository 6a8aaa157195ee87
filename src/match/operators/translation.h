// One node of the graph on its way into a kernel: its operands as expressions, its plain arguments.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ir/kernel.h"

namespace fact::match {

class Translation {
  public:
    // A tensor argument as an expression, and operands brought to dimensions in common.
    using Load = std::function<ir::ExprId(const std::string&, graph::ValueId)>;
    using Align = std::function<void(std::vector<ir::ExprId>&)>;

    Translation(const graph::Graph& graph, const graph::Node& node, ir::Kernel& into, Align align,
                Load tensor)
        : kernel(into),
          build(into),
          graph_(graph),
          node_(node),
          align_(std::move(align)),
          tensor_(std::move(tensor)) {}

    ir::Kernel& kernel;
    ir::Builder build;

    // The argument as an expression, whether torch wrote a tensor or a number.
    ir::ExprId operand(const std::string& name);
    // Two values that may have their dimensions in different forms.
    ir::ExprId combine(ir::BinaryOp op, ir::ExprId a, ir::ExprId b);
    bool given(std::string_view name) const;  // neither absent nor None
    bool is_number(std::string_view name) const;
    double number(std::string_view name, double otherwise) const;
    std::string text(std::string_view name, std::string_view otherwise) const;
    DType result_type() const;
    // The argument's element type; numbers count as f32.
    DType type_of(std::string_view name) const;

  private:
    const graph::Graph& graph_;
    const graph::Node& node_;
    Align align_;
    Load tensor_;
};

}  // namespace fact::match

// The scope inside a composite function: its parameters and its own statements, no names of the
// caller.
#pragma once

#include <map>

#include "dsl/evaluator.h"
#include "dsl/prelude.h"

namespace fact::dsl {

class CompositeNames : public Names {
  public:
    Value value(const ast::Word& name) override;
    // Inside a composite function, `over` is the only name for dimensions.
    std::optional<std::vector<ir::DimId>> dims(const ast::Dim&) override { return over_; }

    void set(std::string_view name, Value value) { values_[name] = value; }
    void set_over(std::vector<ir::DimId> over) { over_ = std::move(over); }

  private:
    std::map<std::string_view, Value> values_;
    std::vector<ir::DimId> over_;
};

// Evaluates the function's statements; `names` has its parameters. Errors are reported at `at`.
Value inline_composite(const Composite& function, NodeBuilder& builder, CompositeNames& names,
                       const KernelTable& kernels, Span at);

}  // namespace fact::dsl

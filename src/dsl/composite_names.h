// The inside of a composite function: its parameters and its own statements, nothing of the
// caller's.
#pragma once

#include <map>

#include "dsl/evaluator.h"
#include "dsl/prelude.h"

namespace fact::dsl {

class CompositeNames : public Names {
  public:
    Value value(const ast::Word& name) override;
    // `over` is the one name for dimensions in there.
    std::optional<std::vector<ir::DimId>> dims(const ast::Dim&) override { return over_; }

    void set(std::string_view name, Value value) { values_[name] = value; }
    void set_over(std::vector<ir::DimId> over) { over_ = std::move(over); }

  private:
    std::map<std::string_view, Value> values_;
    std::vector<ir::DimId> over_;
};

// The function's statements, its parameters being set; errors are reported at `at`.
Value write_out(const Composite& function, NodeBuilder& builder, CompositeNames& names,
                const KernelTable& kernels, Span at);

}  // namespace fact::dsl

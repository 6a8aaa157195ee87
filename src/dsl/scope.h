// The names of one kernel: its dimensions, tensors and values.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsl/ast.h"
#include "dsl/evaluator.h"
#include "dsl/node_builder.h"

namespace fact::dsl {

class Scope : public Names {
  public:
    explicit Scope(NodeBuilder& builder)
        : builder_(builder),
          kernel_(builder.kernel()),
          reporter_(builder.reporter()),
          errors_before_(reporter_.count()) {}

    // Fills the kernel's dims, params and outputs (without values).
    void declare(const ast::Kernel& kernel);

    // Reports an unknown name.
    Value value(const ast::Word& word) override;
    // One dimension, made of the parameters' symbols and constants.
    std::optional<std::vector<ir::DimId>> dims(const ast::Dim& dim) override;

    // Gives the targets of a statement their values, which are nullopt after an error. Reports
    // names that are taken or reserved, and outputs whose type does not fit the value; `at` is the
    // span of the expression.
    void define(const ast::Statement& statement, const std::vector<Value>& values, Span at);

    // Reports outputs without a value; and unused values if the kernel is `complete`, which means
    // that every statement has a value, and had no other error.
    void finish(bool complete);

  private:
    enum class Kind { param, output, value };
    struct Symbol {
        Kind kind{};
        Span span;
        std::size_t position = 0;  // among params or outputs
        bool assigned = false, used = false;
        bool broken = false;  // its declaration has an error: consequences are not reported
        Value value;
    };

    void declare_symbols(const std::vector<ast::Dim>& dims);
    // Constraints on dimensions in the header, in constraints.cpp.
    void declare_factored_dims(const std::vector<ast::Constraint>& constraints);
    void declare_multiples(const std::vector<ast::Constraint>& constraints);
    void define_factored_dim(const ast::Constraint& constraint);
    ir::Tensor tensor(const ast::Tensor& tensor);
    std::optional<DType> dtype(const ast::Word& word);
    bool has_dim(std::string_view name) const;
    std::optional<ir::DimId> dim(const ast::Dim& dim);
    std::optional<std::vector<ir::DimId>> factors(const ast::Dim& dim);
    std::optional<ir::DimId> factor(const ast::Word& word);
    // `one_of_several`: one of several results of a call, which need not all be used.
    void define(const ast::Word& word, Value value, Span at, bool one_of_several);
    bool claim(const ast::Word& word, Symbol symbol);
    void warn_if_unneeded(const Symbol& symbol);
    void check_output(const Symbol& symbol, Span at);

    NodeBuilder& builder_;
    ir::Kernel& kernel_;
    Reporter& reporter_;
    int errors_before_;
    std::unordered_map<std::string_view, Symbol> symbols_;
    std::vector<std::string_view> order_;  // of definition, for errors in the text's order
    std::vector<std::pair<ir::DimId, Span>> named_factored_dims_;  // named in the header
};

}  // namespace fact::dsl

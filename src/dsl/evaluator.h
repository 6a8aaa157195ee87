// Turns the expressions of a text into expressions of a kernel.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "dsl/ast.h"
#include "dsl/node_builder.h"
#include "dsl/signature.h"

namespace fact::dsl {

// Resolves the names in an expression: a kernel's scope, or the arguments of a composite function.
class Names {
  public:
    virtual ~Names() = default;
    virtual Value value(const ast::Word& name) = 0;
    // One dimension, or several if it is the `over` of a composite function.
    virtual std::optional<std::vector<ir::DimId>> dims(const ast::Dim& dim) = 0;
};

// The kernels and pipelines of a text: a pipeline may call kernels.
struct KernelTable {
    std::map<std::string, const ir::Kernel*, std::less<>> kernels;  // null: it has errors
    std::set<std::string, std::less<>> pipelines;
};

class Evaluator {
  public:
    // `at`: where errors are reported if the text is that of a composite function.
    Evaluator(NodeBuilder& builder, Names& names, const KernelTable& kernels, bool in_pipeline,
              std::optional<Span> at = {})
        : builder_(builder),
          names_(names),
          kernels_(kernels),
          in_pipeline_(in_pipeline),
          at_(at),
          reporter_(builder.reporter()) {}

    // A value for each target of the statement, whose expression must have been parsed.
    std::vector<Value> evaluate(const ast::Body& body, const ast::Statement& statement);

  private:
    using Argument =
        std::variant<std::monostate, ir::ExprId, std::vector<ir::DimId>, ast::Word, double>;

    Span span_of(Span span) const { return at_.value_or(span); }
    Value value(ast::ExprId id) const { return values_[static_cast<std::size_t>(id)]; }
    const ast::Expr& syntax(ast::ExprId id) const {
        return body_->exprs[static_cast<std::size_t>(id)];
    }
    Value expression(const ast::Expr& expr);
    std::optional<std::vector<ir::DimId>> dims(const std::vector<ast::Dim>& list);
    std::optional<ir::DimId> dim(const ast::Dim& dim);
    using Reshape = Value (NodeBuilder::*)(ir::ExprId, std::vector<ir::DimId>, Span);
    Value reshape(ast::ExprId x, const std::vector<ast::Dim>& list, Reshape how, Span span);
    Value window(const ast::Window& window, Span span);

    // The value of an expression of numbers and constant extents, in constant.cpp; nullopt for any
    // other expression.
    std::optional<double> constant(ast::ExprId id);

    // Function calls, in calls.cpp.
    Value call(const ast::Call& call, Span span);
    Value attention(const ast::Call& call, Span span);
    Value flip(const ast::Call& call, Span span);
    Value scan(ir::ScanOp op, const ast::Call& call, Span span);
    Value matmul(const ast::Call& call, Span span);
    Value composite(const ast::Call& call, Span span);
    void unknown_function(const ast::Call& call);
    bool read_precision(const Argument& argument, ir::Precision& precision);
    void unknown_word(std::string_view what, const ast::Word& word, std::string fix);

    // Calls of kernels, in kernel_calls.cpp. Empty after an error.
    bool names_kernel(const ast::Call& call) const;
    std::vector<Value> call_kernel(const ast::Call& call, Span span, std::string_view prefix);

    // Arguments by parameter, in arguments.cpp; nullopt after an error.
    std::optional<std::vector<Argument>> bind(const Signature& signature, const ast::Call& call,
                                              Span span);
    bool bind_named(const Signature& signature, const ast::Call& call, std::vector<Argument>& bound,
                    std::vector<bool>& is_set);
    std::optional<Argument> argument(const Parameter& parameter,
                                     const ast::NamedArgument& argument);
    // The arguments of a function that takes only values.
    std::optional<std::vector<ir::ExprId>> values(const ast::Call& call, std::size_t count,
                                                  Span span);

    NodeBuilder& builder_;
    Names& names_;
    const KernelTable& kernels_;
    bool in_pipeline_;
    std::optional<Span> at_;
    Reporter& reporter_;
    const ast::Body* body_ = nullptr;
    std::vector<Value> values_;  // by syntax node
};

}  // namespace fact::dsl

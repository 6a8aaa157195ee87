// The names of one kernel: its dimensions, tensors and values.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsl/ast.h"
#include "dsl/reporter.h"
#include "ir/kernel.h"

namespace fact::dsl {

class Scope {
  public:
    Scope(ir::Kernel& kernel, Reporter& reporter)
        : kernel_(kernel), reporter_(reporter), errors_before_(reporter.count()) {}

    // Fills the kernel's dims, params and outputs (without values).
    void declare(const ast::Kernel& kernel);

    // The dimension, which must be one of a parameter's, or a constant.
    std::optional<ir::DimId> dim(const ast::Word& word);

    struct Use {
        bool known = false;
        std::optional<ir::ExprId> value;  // none when its definition was in error
    };
    // Reports an unknown name.
    Use use(const ast::Word& word);
    // Reports a name that is taken or reserved, and an output that does not take the value, which
    // is written `at`; `value` none when it was in error.
    void define(const ast::Word& word, std::optional<ir::ExprId> value, Span at);

    // Reports outputs without a value; and values without a use, where the kernel was `complete`
    // and had no other error.
    void finish(bool complete);

  private:
    enum class Kind { param, output, value };
    struct Symbol {
        Kind kind{};
        Span span;
        std::size_t position = 0;  // among params or outputs
        bool assigned = false, used = false;
        bool broken = false;  // declared in error: what follows from it is not reported
        std::optional<ir::ExprId> value;
    };

    ir::Tensor tensor(const ast::Tensor& tensor);
    std::optional<DType> dtype(const ast::Word& word);
    bool claim(const ast::Word& word, Symbol symbol);
    void check_output(const Symbol& symbol, Span at);

    ir::Kernel& kernel_;
    Reporter& reporter_;
    int errors_before_;
    std::unordered_map<std::string, ir::DimId> dims_;
    std::unordered_map<std::string_view, Symbol> symbols_;
    std::vector<std::string_view> order_;  // of definition, for errors in the text's order
};

}  // namespace fact::dsl

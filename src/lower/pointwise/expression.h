// Pointwise expressions of the IR as CUDA text, spelled the same way for every skeleton.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "emit/code_writer.h"
#include "ir/kernel.h"

namespace fact::lower {

// Names and values inside one function of emitted code. A copy is an inner scope: what it declares
// is unknown to the original.
class ExpressionText {
  public:
    // How the emitted code spells a coordinate or an extent.
    using Spell = std::function<std::string(ir::DimId)>;

    ExpressionText(const ir::Kernel& kernel, Spell coordinate, Spell extent)
        : kernel_(&kernel), coordinate_(std::move(coordinate)), extent_(std::move(extent)) {}

    // Prevents a word from being used as a name.
    void reserve(const std::string& word) { taken_[word] = 1; }
    // The expression is already available, under this name or text.
    void set(ir::ExprId id, std::string text) { names_[id] = std::move(text); }
    bool has(ir::ExprId id) const { return names_.contains(id); }

    // Writes "float const name = ...;" for an expression whose operands are available. Literals and
    // permutations are inlined where they are used.
    void declare(emit::CodeWriter& writer, ir::ExprId id);
    // The same with a given text, such as a load.
    void declare(emit::CodeWriter& writer, ir::ExprId id, const std::string& text);
    // The name of a value, or its text if it is inlined.
    std::string use(ir::ExprId id) const;
    // The text of the expression, with its operands' names.
    std::string value(ir::ExprId id) const;
    // The wanted name, changed if it is already in use.
    std::string fresh(const std::string& wanted);

  private:
    std::string as_float(ir::ExprId id) const;
    std::string matched(ir::ExprId id, bool floating) const;
    std::string integer(ir::ExprId id, bool wide) const;
    std::string unary(const ir::Unary& node) const;
    std::string binary(const ir::Binary& node) const;
    std::string power(const ir::Binary& node, const std::string& a, const std::string& b) const;
    std::string quotient(const ir::Binary& node, const std::string& a, const std::string& b) const;
    std::string cast(DType to, ir::ExprId x) const;

    const ir::Kernel* kernel_;
    Spell coordinate_, extent_;
    std::map<ir::ExprId, std::string> names_;  // names, or inlined texts, of available expressions
    std::map<std::string, int> taken_;         // by name: how often fresh() was asked for it
};

}  // namespace fact::lower

// Pointwise expressions of the IR as CUDA text: one way of writing each, whatever skeleton the text
// stands in.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "emit/code_writer.h"
#include "ir/kernel.h"

namespace fact::lower {

// Names and values inside one function of emitted code. Copying one opens a scope: what the copy
// declares, the original does not know.
class ExpressionText {
  public:
    // How coordinates and extents are spelled where the text will stand.
    using Spell = std::function<std::string(ir::DimId)>;

    ExpressionText(const ir::Kernel& kernel, Spell coordinate, Spell extent)
        : kernel_(&kernel), coordinate_(std::move(coordinate)), extent_(std::move(extent)) {}

    // Keeps a word from being taken as a name.
    void reserve(const std::string& word) { taken_[word] = 1; }
    // The expression is there already, under this name or text.
    void set(ir::ExprId id, std::string text) { names_[id] = std::move(text); }
    bool has(ir::ExprId id) const { return names_.contains(id); }

    // Writes "float const name = ...;" for an expression whose operands are there. Literals and
    // permutations need no line: they are written where they are used.
    void declare(emit::CodeWriter& writer, ir::ExprId id);
    // The same for one whose text is known: a load, say.
    void declare(emit::CodeWriter& writer, ir::ExprId id, const std::string& text);
    // The name of a value, or the text of one that needs none.
    std::string use(ir::ExprId id) const;
    // The expression in terms of its operands' names.
    std::string value(ir::ExprId id) const;
    // A name like the wanted one that is not taken yet.
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
    std::map<ir::ExprId, std::string> names_;
    std::map<std::string, int> taken_;
};

}  // namespace fact::lower

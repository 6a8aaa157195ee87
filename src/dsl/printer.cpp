// to_text(const ir::Kernel&), which dsl/dsl.h declares.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "dsl/dsl.h"
#include "dsl/name_table.h"
#include "dsl/precedence.h"
#include "dsl/words.h"
#include "ir/reorderings.h"
#include "support/result.h"

namespace fact::dsl {
namespace {

using ir::ExprId;
using ir::index;

constexpr std::size_t kMaxColumns = 100;
constexpr std::size_t kMaxExpression = 72;  // characters; longer ones are split into statements

struct Rendered {  // an expression
    std::string text;
    int precedence = precedence::atom;
};

std::string literal_text(double value, DType dtype) {
    if (dtype == DType::boolean) return value != 0 ? "true" : "false";
    if (dtype == DType::i32) return fmt::format("{}", static_cast<std::int64_t>(value));
    // The shortest digits that read back as the same double.
    std::string text = fmt::format("{}", value);
    // No '.', no exponent, neither inf nor nan.
    const bool is_whole = text.find_first_of(".ein") == std::string::npos;
    return is_whole ? text + ".0" : text;
}

class Printer {
  public:
    explicit Printer(const ir::Kernel& kernel)
        : kernel_(kernel),
          texts_(kernel.exprs.size()),
          names_(kernel.exprs.size()),
          uses_(kernel.exprs.size()) {}

    std::string run() {
        count_uses();
        name_dims_and_tensors();
        name_values();
        // Operands precede users, so no recursion is needed.
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (uses_[i] > 0) render(i);
        return header() + body() + "}\n";
    }

  private:
    void count_uses() {
        for (const ir::Output& output : kernel_.outputs) ++uses_[index(output.value)];
        for (std::size_t i = kernel_.exprs.size(); i-- > 0;)
            if (uses_[i] > 0)
                ir::for_each_operand(kernel_.exprs[i].node, [&](ExprId id) { ++uses_[index(id)]; });
    }

    void name_dims_and_tensors() {
        for (const ir::Dim& dim : kernel_.dims) {
            const bool named = dim.extent
                                   ? kernel_.is_named_constant(dim)
                                   : dim.factors.empty() || kernel_.is_named_factored_dim(dim);
            dim_names_.push_back(named        ? table_.claim(dim.name, "D")
                                 : dim.extent ? std::to_string(*dim.extent)
                                              : "");
        }
        for (std::size_t d = 0; d < kernel_.dims.size(); ++d)
            if (dim_names_[d].empty()) dim_names_[d] = factored_text(kernel_.dims[d]);
        for (const ir::Tensor& param : kernel_.params)
            param_names_.push_back(table_.claim(param.name, "x"));
        for (const ir::Output& output : kernel_.outputs)
            output_names_.push_back(table_.claim(output.tensor.name, "y"));
    }

    void name_values() {
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (const auto* param = std::get_if<ir::Param>(&kernel_.exprs[i].node))
                names_[i] = param_names_[param->index];
        for (std::size_t o = 0; o < kernel_.outputs.size(); ++o) {
            const std::size_t value = index(kernel_.outputs[o].value);
            const std::string& own = kernel_.exprs[value].name;
            if (names_[value].empty() && (own.empty() || own == kernel_.outputs[o].tensor.name))
                names_[value] = output_names_[o];
        }
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (uses_[i] > 0 && names_[i].empty() && !kernel_.exprs[i].name.empty())
                names_[i] = table_.claim(kernel_.exprs[i].name, "t");
    }

    // Whether the expression is inlined however often it is used.
    bool is_leaf(std::size_t i) const {
        const ir::Node& node = kernel_.exprs[i].node;
        if (const auto* permute = std::get_if<ir::Permute>(&node))
            return std::holds_alternative<ir::Param>(kernel_[permute->x].node);
        if (const auto* expand = std::get_if<ir::Expand>(&node))
            return std::holds_alternative<ir::Param>(kernel_[expand->x].node);
        if (const auto* view = std::get_if<ir::View>(&node))
            return std::holds_alternative<ir::Param>(kernel_[view->x].node);
        return std::holds_alternative<ir::Param>(node) ||
               std::holds_alternative<ir::Literal>(node) ||
               std::holds_alternative<ir::Index>(node) || std::holds_alternative<ir::Extent>(node);
    }

    void render(std::size_t i) {
        const ir::Expr& expr = kernel_.exprs[i];
        texts_[i] = text_of(expr);
        while (texts_[i].text.size() > kMaxExpression) {
            std::optional<std::size_t> longest;  // of the operands that can be named
            ir::for_each_operand(expr.node, [&](ExprId id) {
                const std::size_t x = index(id);
                if (!names_[x].empty() || is_leaf(x)) return;
                if (!longest || texts_[x].text.size() > texts_[*longest].text.size()) longest = x;
            });
            if (!longest) break;
            names_[*longest] = table_.numbered("t");
            texts_[i] = text_of(expr);
        }
        if (!names_[i].empty()) return;
        // Schedules find products by name.
        const bool is_product = std::holds_alternative<ir::Product>(expr.node) ||
                                std::holds_alternative<ir::Attention>(expr.node);
        if (is_product)
            names_[i] = table_.claim("acc", "acc");
        else if ((uses_[i] > 1 && !is_leaf(i)) || expr.stored)
            names_[i] = table_.numbered("t");
    }

    // The operand's text, in parentheses if its precedence is below `least`.
    std::string operand(ExprId id, int least = precedence::lowest) const {
        const std::size_t i = index(id);
        if (!names_[i].empty()) return names_[i];
        return texts_[i].precedence < least ? fmt::format("({})", texts_[i].text) : texts_[i].text;
    }

    Rendered infix(std::string_view symbol, int level, ExprId a, ExprId b) const {
        // Left associative, but comparisons do not chain.
        const int left = level == precedence::comparison ? level + 1 : level;
        return {fmt::format("{} {} {}", operand(a, left), symbol, operand(b, level + 1)), level};
    }

    Rendered text_of(const ir::Expr& expr) const {
        return std::visit(
            overloaded{
                [&](const ir::Param& n) { return Rendered{param_names_[n.index]}; },
                [&](const ir::Literal& n) {
                    const std::string text = literal_text(n.value, expr.type.dtype);
                    return Rendered{text, text[0] == '-' ? precedence::negation : precedence::atom};
                },
                [&](const ir::Index& n) {
                    return Rendered{fmt::format("index({})", dim_names_[index(n.dim)])};
                },
                [&](const ir::Unary& n) { return unary(n); },
                [&](const ir::Binary& n) {
                    if (const Infix* row = find_infix(n.op))
                        return infix(row->text, row->precedence, n.a, n.b);
                    return Rendered{
                        fmt::format("{}({}, {})", info(n.op).name, operand(n.a), operand(n.b))};
                },
                [&](const ir::Select& n) {
                    return Rendered{fmt::format("where({}, {}, {})", operand(n.condition),
                                                operand(n.a), operand(n.b))};
                },
                [&](const ir::Cast& n) {
                    return Rendered{
                        fmt::format("{}({})", info(expr.type.dtype).name, operand(n.x))};
                },
                [&](const ir::Permute& n) { return permute(n, expr.type.dims); },
                [&](const ir::Expand& n) {
                    return Rendered{fmt::format("{}.expand({})", operand(n.x, precedence::atom),
                                                dims_text(expr.type.dims))};
                },
                [&](const ir::View& n) {
                    const bool renames =
                        ir::is_renaming(kernel_, kernel_[n.x].type.dims, expr.type.dims);
                    return Rendered{fmt::format("{}.{}({})", operand(n.x, precedence::atom),
                                                renames ? "as" : "view",
                                                dims_text(expr.type.dims))};
                },
                [&](const ir::Flip& n) {
                    return Rendered{
                        fmt::format("flip({}, over: {})", operand(n.x), dim_names_[index(n.dim)])};
                },
                [&](const ir::Window& n) { return window(n); },
                [&](const ir::Extent& n) {
                    return Rendered{fmt::format("extent({})", dim_names_[index(n.dim)])};
                },
                [&](const ir::Reduce& n) {
                    return Rendered{fmt::format("{}({}, over: {})", info(n.op).name, operand(n.x),
                                                over_text(n.over))};
                },
                [&](const ir::Scan& n) {
                    return Rendered{fmt::format("{}({}, over: {}{})", info(n.op).name, operand(n.x),
                                                over_text(n.over),
                                                n.backwards ? ", from: end" : "")};
                },
                [&](const ir::Attention& n) { return attention(n); },
                [&](const ir::LogSumExp& n) {
                    return Rendered{fmt::format("scores_logsumexp({})", operand(n.attention))};
                },
                [&](const ir::Product& n) {
                    if (n.precision == ir::Precision::exact)
                        return infix("@", precedence::product, n.a, n.b);
                    return Rendered{
                        fmt::format("matmul({}, {}, precision: tf32)", operand(n.a), operand(n.b))};
                },
            },
            expr.node);
    }

    Rendered unary(const ir::Unary& node) const {
        if (node.op == ir::UnaryOp::logical_not)
            return {fmt::format("not {}", operand(node.x, precedence::logical_not)),
                    precedence::logical_not};
        if (node.op != ir::UnaryOp::neg)
            return {fmt::format("{}({})", info(node.op).name, operand(node.x))};
        // `-1.0` reads as a literal, so the negation of a literal is written `-(1.0)`.
        const bool literal = std::holds_alternative<ir::Literal>(kernel_[node.x].node);
        return {fmt::format("-{}",
                            operand(node.x, literal ? precedence::atom + 1 : precedence::negation)),
                precedence::negation};
    }

    Rendered permute(const ir::Permute& node, const std::vector<ir::DimId>& dims) const {
        const std::string x = operand(node.x, precedence::atom);
        auto swapped = kernel_[node.x].type.dims;
        if (swapped.size() >= 2) std::swap(swapped.end()[-1], swapped.end()[-2]);
        if (swapped == dims) return {x + ".T"};
        return {fmt::format("{}.permute({})", x, dims_text(dims))};
    }

    Rendered window(const ir::Window& node) const {
        std::string dims;
        for (const ir::DimId places : node.places) {
            const ir::WindowRule& rule = *kernel_[places].window;
            dims +=
                fmt::format("{}{}: {} by {}", dims.empty() ? "" : ", ", dim_names_[index(rule.of)],
                            dim_names_[index(places)], dim_names_[index(rule.taps)]);
            if (rule.stride != 1) dims += fmt::format(" stride {}", rule.stride);
            if (rule.dilation != 1) dims += fmt::format(" dilation {}", rule.dilation);
            if (rule.before != 0 || rule.after != 0) dims += fmt::format(" pad {}", rule.before);
            if (rule.before != rule.after) dims += fmt::format(" {}", rule.after);
        }
        if (node.outside != 0)
            dims += fmt::format(", outside: {}", literal_text(node.outside, DType::f32));
        return {fmt::format("{}.window({})", operand(node.x, precedence::atom), dims)};
    }

    std::string over_text(const std::vector<ir::DimId>& over) const {
        return over.size() == 1 ? dims_text(over) : "[" + dims_text(over) + "]";
    }

    Rendered attention(const ir::Attention& node) const {
        std::string text =
            fmt::format("attention({}, {}, {}", operand(node.q), operand(node.k), operand(node.v));
        if (node.causal) text += ", mask: causal";
        if (node.window) text += fmt::format(", window: {}", *node.window);
        if (node.bias) text += fmt::format(", bias: {}", operand(*node.bias));
        if (node.empty_rows_are_zero) text += ", unseen: zero";
        if (node.precision == ir::Precision::tf32) text += ", precision: tf32";
        text += fmt::format(", scale: {}", literal_text(node.scale, DType::f32));
        if (node.cap) text += fmt::format(", cap: {}", literal_text(*node.cap, DType::f32));
        return {text + ")"};
    }

    std::string dims_text(const std::vector<ir::DimId>& dims) const {
        std::string out;
        for (const ir::DimId dim : dims) out += (out.empty() ? "" : ", ") + dim_names_[index(dim)];
        return out;
    }

    std::string factored_text(const ir::Dim& dim) const {
        std::string out;
        for (const ir::DimId factor : dim.factors)
            out += (out.empty() ? "" : "*") + dim_names_[index(factor)];
        return out;
    }

    // " where N = 3*H*D, K % 8 == 0"
    std::string constraints() const {
        std::vector<std::string> all;
        const auto used = ir::used_dims(kernel_);
        for (std::size_t d = 0; d < kernel_.dims.size(); ++d)
            if (const ir::Dim& dim = kernel_.dims[d];
                used[d] && (kernel_.is_named_factored_dim(dim) || kernel_.is_named_constant(dim)))
                all.push_back(
                    fmt::format("{} = {}", dim_names_[d],
                                dim.extent ? std::to_string(*dim.extent) : factored_text(dim)));
        std::sort(all.begin(), all.end());  // their order has no meaning
        for (const ir::Multiple& rule : kernel_.multiples)
            all.push_back(fmt::format("{} % {} == 0", dim_names_[index(rule.dim)], rule.of));
        return all.empty() ? "" : fmt::format(" where {}", fmt::join(all, ", "));
    }

    std::string header() const {
        std::vector<std::string> params, outputs;
        const auto tensor = [&](const std::string& name, const ir::Type& type) {
            const std::string dims = dims_text(type.dims);
            return fmt::format("{}: {}{}", name, info(type.dtype).name,
                               dims.empty() ? "" : "[" + dims + "]");
        };
        for (std::size_t i = 0; i < kernel_.params.size(); ++i)
            params.push_back(tensor(param_names_[i], kernel_.params[i].type));
        for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
            outputs.push_back(tensor(output_names_[i], kernel_.outputs[i].tensor.type));
        const std::string name = NameTable().claim(kernel_.name, "kernel_");
        const auto line = fmt::format("kernel {}({}) -> ({}){} {{\n", name, fmt::join(params, ", "),
                                      fmt::join(outputs, ", "), constraints());
        if (line.size() <= kMaxColumns) return line;
        return fmt::format("kernel {}(\n    {}\n) -> (\n    {}\n){} {{\n", name,
                           fmt::join(params, ",\n    "), fmt::join(outputs, ",\n    "),
                           constraints());
    }

    std::string body() const {
        std::vector<std::pair<std::string, std::string>> lines;
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (uses_[i] > 0 && !names_[i].empty() &&
                !std::holds_alternative<ir::Param>(kernel_.exprs[i].node))
                lines.emplace_back((kernel_.exprs[i].stored ? "stored " : "") + names_[i],
                                   texts_[i].text);
        for (std::size_t o = 0; o < kernel_.outputs.size(); ++o) {
            const std::string& name = names_[index(kernel_.outputs[o].value)];
            if (name != output_names_[o]) lines.emplace_back(output_names_[o], name);
        }
        std::size_t width = 0;
        for (const auto& [name, text] : lines) width = std::max(width, name.size());
        std::string out;
        for (const auto& [name, text] : lines)
            out += fmt::format("  {:<{}} = {}\n", name, width, text);
        return out;
    }

    const ir::Kernel& kernel_;
    NameTable table_;
    std::vector<Rendered> texts_;     // by expression
    std::vector<std::string> names_;  // "" for what is inlined
    std::vector<int> uses_;           // by expression: how often outputs and operands refer to it
    std::vector<std::string> dim_names_, param_names_, output_names_;
};

}  // namespace

std::string to_text(const ir::Kernel& kernel) {
    return Printer(kernel).run();
}

}  // namespace fact::dsl

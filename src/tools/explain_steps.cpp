#include "tools/explain_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "ir/typing.h"
#include "support/result.h"
#include "tools/products.h"

namespace fact::tools {
namespace {

// The text at `span`, on one line.
std::string quoted(std::string_view text, Span span) {
    if (span.end <= span.begin || span.end > text.size()) return {};
    std::string out;
    for (const char c : text.substr(span.begin, span.end - span.begin))
        if (!std::isspace(static_cast<unsigned char>(c)))
            out += c;
        else if (!out.ends_with(' '))
            out += ' ';
    return out;
}

class Steps {
  public:
    Steps(const ir::Kernel& kernel, const Extents& extents, std::string_view text)
        : kernel_(kernel), extents_(extents), text_(text), numbers_(kernel.exprs.size(), 0) {}

    std::vector<std::string> run() {
        const auto needed = ir::reachable(kernel_);
        const auto products = products_of(kernel_);
        auto product = products.begin();
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
            const ir::Expr& expr = kernel_.exprs[i];
            if (!needed[i] || in_place(expr)) continue;
            numbers_[i] = steps_.size() + 1;
            std::string step = operation(expr);
            if (std::holds_alternative<ir::Product>(expr.node)) step += sizes(*product++);
            step += missing_dims(expr);
            const std::string target = expr.name.empty() ? "" : expr.name + " = ";
            steps_.push_back(target + step);
        }
        for (const ir::Output& output : kernel_.outputs) store(output);
        return std::move(steps_);
    }

  private:
    // Whether an operand is shown where it is used, and not as a step.
    bool in_place(const ir::Expr& expr) const {
        return std::visit(
            overloaded{
                [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Permute,
                                ir::Expand, ir::View> auto&) { return true; },
                [](const one_of<ir::Unary, ir::Binary, ir::Select, ir::Cast, ir::Flip, ir::Window,
                                ir::Reduce, ir::Scan, ir::Product, ir::Attention,
                                ir::LogSumExp> auto&) { return false; },
            },
            expr.node);
    }

    const std::string& dim(ir::DimId id) const { return kernel_[id].name; }
    std::string dims(const std::vector<ir::DimId>& ids) const {
        return ir::to_string(kernel_, ids);
    }

    // How a step refers to its operand.
    std::string ref(ir::ExprId id) const {
        const ir::Expr& expr = kernel_[id];
        if (const auto* param = std::get_if<ir::Param>(&expr.node))
            return kernel_.params[param->index].name;
        if (!expr.name.empty()) return expr.name;
        if (const auto number = numbers_[ir::index(id)]) return fmt::format("#{}", number);
        if (const auto* literal = std::get_if<ir::Literal>(&expr.node)) {
            if (expr.type.dtype == DType::boolean) return literal->value != 0 ? "true" : "false";
            return fmt::format("{:g}", literal->value);
        }
        if (const auto* index = std::get_if<ir::Index>(&expr.node))
            return fmt::format("index({})", dim(index->dim));
        if (const auto* extent = std::get_if<ir::Extent>(&expr.node))
            return fmt::format("{} (the extent of {})", extents_[extent->dim], dim(extent->dim));
        if (const auto* permute = std::get_if<ir::Permute>(&expr.node))
            return reordered(permute->x, expr.type.dims);
        if (const auto* expand = std::get_if<ir::Expand>(&expr.node))
            return fmt::format("{} repeated to {}", ref(expand->x), dims(expr.type.dims));
        if (const auto* view = std::get_if<ir::View>(&expr.node))
            return fmt::format("{} seen as {}", ref(view->x), dims(expr.type.dims));
        return quoted(text_, expr.span);
    }

    std::string reordered(ir::ExprId x, const std::vector<ir::DimId>& to) const {
        auto swapped = kernel_[x].type.dims;
        if (swapped.size() > 1) std::swap(swapped.end()[-1], swapped.end()[-2]);
        if (swapped == to) return ref(x) + ".T";
        return fmt::format("{} as {}", ref(x), dims(to));
    }

    std::string windows(const ir::Window& node) const {
        std::vector<std::string> along;
        for (const ir::DimId places : node.places) {
            const ir::WindowRule& rule = *kernel_[places].window;
            along.push_back(fmt::format("{} along {}", extents_[rule.taps], dim(rule.of)));
        }
        return fmt::format("windows of {}, of {} elements", ref(node.x), fmt::join(along, ", "));
    }

    std::string operation(const ir::Expr& expr) const {
        return std::visit(
            overloaded{
                [&](const ir::Unary& n) { return unary(n); },
                [&](const ir::Binary& n) {
                    const auto name = ir::info(n.op).name;
                    // Functions have a name, operators a sign or one of two words.
                    const bool infix = !std::isalpha(static_cast<unsigned char>(name[0])) ||
                                       n.op == ir::BinaryOp::logical_and ||
                                       n.op == ir::BinaryOp::logical_or;
                    return infix ? fmt::format("{} {} {}", ref(n.a), name, ref(n.b))
                                 : fmt::format("{}({}, {})", name, ref(n.a), ref(n.b));
                },
                [&](const ir::Select& n) {
                    return fmt::format("{} where {}, else {}", ref(n.a), ref(n.condition),
                                       ref(n.b));
                },
                [&](const ir::Cast& n) {
                    return fmt::format("{} rounded to {}", ref(n.x), info(expr.type.dtype).name);
                },
                [&](const ir::Flip& n) {
                    return fmt::format("{} reversed along {}", ref(n.x), dim(n.dim));
                },
                [&](const ir::Window& n) { return windows(n); },
                [&](const ir::Reduce& n) {
                    std::vector<std::string> over;
                    for (const ir::DimId id : n.over) over.push_back(dim(id));
                    return fmt::format("{} of {} over {}: one for each of {}", ir::info(n.op).noun,
                                       ref(n.x), fmt::join(over, ", "), dims(expr.type.dims));
                },
                [&](const ir::Scan& n) {
                    return fmt::format("running {} of {} along {}{}",
                                       n.op == ir::ScanOp::sum ? "sum" : "product", ref(n.x),
                                       dims(n.over), n.backwards ? ", from its end" : "");
                },
                [&](const ir::Product& n) { return fmt::format("{} @ {}", ref(n.a), ref(n.b)); },
                [&](const ir::Attention& n) { return attention(n); },
                [&](const ir::LogSumExp& n) {
                    return fmt::format("logsumexp of the scores of {}", ref(n.attention));
                },
                [&](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Permute,
                                 ir::Expand, ir::View> auto&) {
                    const std::string source = quoted(text_, expr.span);
                    return source.empty() ? std::string("an operation") : source;
                },
            },
            expr.node);
    }

    std::string unary(const ir::Unary& n) const {
        const auto& row = ir::info(n.op);
        if (n.op == ir::UnaryOp::neg) return "-" + ref(n.x);
        if (n.op == ir::UnaryOp::logical_not) return "not " + ref(n.x);
        return fmt::format("{}({}): {}", row.name, ref(n.x), row.meaning);
    }

    static std::string visible_columns(const ir::Attention& n) {
        if (n.causal && n.window)
            return fmt::format(", row i sees columns i - {} to i", *n.window - 1);
        if (n.window) return fmt::format(", row i sees columns i - {0} to i + {0}", *n.window - 1);
        return n.causal ? ", row i sees columns 0 to i" : "";
    }

    std::string attention(const ir::Attention& n) const {
        std::string scores = fmt::format("{:g} * {} @ {}.T", n.scale, ref(n.q), ref(n.k));
        if (n.cap) scores = fmt::format("{0:g} * tanh({1} / {0:g})", *n.cap, scores);
        return fmt::format("softmax({}{}) @ {}{}{}{}; {:.4g} GFLOP", scores,
                           n.bias ? " + " + ref(*n.bias) : "", ref(n.v), visible_columns(n),
                           n.empty_rows_are_zero ? ", a row that sees nothing is 0" : "",
                           n.precision == ir::Precision::tf32
                               ? ", operands and weights rounded to TF32's ten bits"
                               : "",
                           flops_of(kernel_, n, extents_) * 1e-9);
    }

    std::string sizes(const ProductDims& p) const {
        const auto side = [&](std::string_view part, ir::DimId id) {
            const bool constant = kernel_[id].extent.has_value();
            return constant ? fmt::format("{} = {}", part, extents_[id])
                            : fmt::format("{} = {} = {}", part, dim(id), extents_[id]);
        };
        std::string text =
            fmt::format("\n     {}, {}, {}", side("m", p.m), side("n", p.n), side("k", p.k));
        text += p.batch.empty() ? ", no batch"
                                : fmt::format(", batch {} = {:.0f}", dims(p.batch),
                                              num_elements(extents_, p.batch));
        const std::string_view how = p.operands != DType::f32 ? "exact products"
                                     : p.precision == ir::Precision::tf32
                                         ? "operands rounded to TF32's ten bits"
                                         : "as accurate as f32 arithmetic short of extreme ranges";
        return text + fmt::format("\n     {} operands, {}, sums in f32; {:.4g} GFLOP",
                                  info(p.operands).name, how, flops_of(p, extents_) * 1e-9);
    }

    // " (b has one value for each N)", for parameters with fewer dimensions than the result.
    std::string missing_dims(const ir::Expr& expr) const {
        std::string text;
        if (std::holds_alternative<ir::Product>(expr.node) ||
            std::holds_alternative<ir::Attention>(expr.node))
            return text;
        ir::for_each_operand(expr.node, [&](ir::ExprId id) {
            const ir::Expr& operand = kernel_[id];
            if (!std::holds_alternative<ir::Param>(operand.node)) return;
            if (operand.type.dims.size() >= expr.type.dims.size()) return;
            text += operand.type.dims.empty() ? fmt::format(" ({} is one number)", ref(id))
                                              : fmt::format(" ({} has one value for each of {})",
                                                            ref(id), dims(operand.type.dims));
        });
        return text;
    }

    void store(const ir::Output& output) {
        const ir::Tensor& tensor = output.tensor;
        const DType computed = kernel_[output.value].type.dtype;
        const std::string rounded =
            info(tensor.type.dtype).floating && tensor.type.dtype != computed
                ? fmt::format(", rounded to {}", info(tensor.type.dtype).name)
                : "";
        const std::string what = ref(output.value);
        steps_.push_back(what == tensor.name
                             ? fmt::format("stores {}{}", tensor.name, rounded)
                             : fmt::format("stores {} as {}{}", what, tensor.name, rounded));
    }

    const ir::Kernel& kernel_;
    const Extents& extents_;
    std::string_view text_;
    std::vector<std::size_t> numbers_;  // the step of each expression, from 1; 0: not a step
    std::vector<std::string> steps_;
};

}  // namespace

std::vector<std::string> computed_steps(const ir::Kernel& kernel, const Extents& extents,
                                        std::string_view text) {
    return Steps(kernel, extents, text).run();
}

}  // namespace fact::tools

#include "ir/dump.h"

#include <fmt/format.h>

#include "ir/typing.h"
#include "support/result.h"

namespace fact::ir {
namespace {

std::string type_text(const Kernel& kernel, const Type& type) {
    return fmt::format("{}{}", info(type.dtype).name,
                       type.dims.empty() ? "" : to_string(kernel, type.dims));
}

std::string tensor_text(const Kernel& kernel, const Tensor& tensor) {
    return fmt::format("{}: {}", tensor.name, type_text(kernel, tensor.type));
}

std::string_view name_of(UnaryOp op) {
    // In the table, negation and subtraction are both called "-".
    return op == UnaryOp::neg ? "neg" : info(op).name;
}

// The node's keyword and attributes, without its operands.
std::string node_text(const Kernel& kernel, const Node& node) {
    return std::visit(
        overloaded{
            [&](const Param& n) { return fmt::format("param {}", kernel.params[n.index].name); },
            [](const Literal& n) { return fmt::format("literal {}", n.value); },
            [&](const Index& n) { return fmt::format("index {}", kernel[n.dim].name); },
            [&](const Extent& n) { return fmt::format("extent {}", kernel[n.dim].name); },
            [](const Unary& n) { return std::string(name_of(n.op)); },
            [](const Binary& n) { return std::string(info(n.op).name); },
            [](const Select&) { return std::string("where"); },
            [](const Cast&) { return std::string("cast"); },
            [](const Permute&) { return std::string("permute"); },
            [](const Expand&) { return std::string("expand"); },
            [](const View&) { return std::string("view"); },
            [&](const Flip& n) { return fmt::format("flip {}", kernel[n.dim].name); },
            [&](const Window& n) {
                return fmt::format("window {} outside {}", to_string(kernel, n.places), n.outside);
            },
            [&](const Reduce& n) {
                return fmt::format("{} over {}", info(n.op).name, to_string(kernel, n.over));
            },
            [&](const Scan& n) {
                return fmt::format("{}{} over {}", info(n.op).name, n.backwards ? " backwards" : "",
                                   to_string(kernel, n.over));
            },
            [](const Product& n) {
                return std::string(n.precision == Precision::tf32 ? "product tf32" : "product");
            },
            [](const LogSumExp&) { return std::string("scores_logsumexp"); },
            [](const Attention& n) {
                return fmt::format(
                    "attention{}{}{}{} scale {}{}", n.precision == Precision::tf32 ? " tf32" : "",
                    n.causal ? " causal" : "", n.window ? fmt::format(" window {}", *n.window) : "",
                    n.empty_rows_are_zero ? " unseen zero" : "", n.scale,
                    n.cap ? fmt::format(" cap {}", *n.cap) : "");
            },
        },
        node);
}

}  // namespace

std::string dump(const Kernel& kernel) {
    std::string out = fmt::format("kernel {}\n", kernel.name);
    for (const Dim& dim : kernel.dims)
        if (kernel.is_named_factored_dim(dim))
            out += fmt::format("  where {} = {}\n", dim.name, kernel.factored_name(dim.factors));
    for (const Dim& dim : kernel.dims)
        if (kernel.is_named_constant(dim))
            out += fmt::format("  where {} = {}\n", dim.name, *dim.extent);
    for (const Dim& dim : kernel.dims)
        if (dim.window)
            out += fmt::format("  where {} places {} by {} stride {} dilation {} pad {} {}\n",
                               dim.name, kernel[dim.window->of].name, kernel[dim.window->taps].name,
                               dim.window->stride, dim.window->dilation, dim.window->before,
                               dim.window->after);
    for (const Multiple& rule : kernel.multiples)
        out += fmt::format("  where {} % {} == 0\n", kernel[rule.dim].name, rule.of);
    for (const Tensor& param : kernel.params)
        out += fmt::format("  in {}\n", tensor_text(kernel, param));
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const Expr& expr = kernel.exprs[i];
        out += fmt::format("  %{}{}{} = {}", i, expr.name.empty() ? "" : " ", expr.name,
                           node_text(kernel, expr.node));
        for_each_operand(expr.node, [&](ExprId id) { out += fmt::format(" %{}", index(id)); });
        out += fmt::format(" : {}{}\n", type_text(kernel, expr.type), expr.stored ? " stored" : "");
    }
    for (const Output& output : kernel.outputs)
        out += fmt::format("  out {} = %{}\n", tensor_text(kernel, output.tensor),
                           index(output.value));
    return out;
}

}  // namespace fact::ir

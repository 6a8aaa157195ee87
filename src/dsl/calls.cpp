// Calls of functions, in Evaluator (dsl/evaluator.h): functions of the tables in ir/functions.h,
// the few with special arguments, and composites.
#include <fmt/format.h>

#include <cmath>

#include "dsl/composite_names.h"
#include "dsl/foreign.h"
#include "dsl/prelude.h"
#include "dsl/words.h"
#include "ir/extents.h"
#include "support/result.h"

namespace fact::dsl {
namespace {

const Signature& matmul_signature() {
    static const Signature signature{"matmul",
                                     {{}, {}, {"precision", ArgumentKind::word, false, false, {}}}};
    return signature;
}

const Signature& attention_signature() {
    static const Signature signature{"attention",
                                     {{},
                                      {},
                                      {},
                                      {"mask", ArgumentKind::word, false, false, {}},
                                      {"bias", ArgumentKind::value, false, false, {}},
                                      {"unseen", ArgumentKind::word, false, false, {}},
                                      {"scale", ArgumentKind::number, false, false, {}},
                                      {"precision", ArgumentKind::word, false, false, {}},
                                      {"cap", ArgumentKind::number, false, false, {}},
                                      {"window", ArgumentKind::number, false, false, {}}}};
    return signature;
}

bool has_argument(const ast::Call& call, std::string_view name) {
    for (const ast::NamedArgument& named : call.named)
        if (named.name.text == name) return true;
    return false;
}

}  // namespace

Value Evaluator::call(const ast::Call& call, Span span) {
    const std::string_view name = call.function.text;
    const auto binary = ir::find_binary_function(name);
    const auto reduction = ir::find_reduction(name);
    if (reduction && (!binary || has_argument(call, "over"))) {
        const Signature signature{name, {{}, {"over", ArgumentKind::dims, true, false, {}}}};
        auto bound = bind(signature, call, span);
        if (!bound) return {};
        return builder_.add(ir::Reduce{*reduction, std::get<ir::ExprId>((*bound)[0]),
                                       std::get<std::vector<ir::DimId>>(std::move((*bound)[1]))},
                            span);
    }
    if (const auto op = ir::find_scan(name)) return scan(*op, call, span);
    if (const auto unary = ir::find_unary_function(name)) {
        const auto args = values(call, 1, span);
        return args ? builder_.add(ir::Unary{*unary, (*args)[0]}, span) : Value{};
    }
    if (binary) {
        const auto args = values(call, 2, span);
        return args ? builder_.add(ir::Binary{*binary, (*args)[0], (*args)[1]}, span) : Value{};
    }
    if (const auto dtype = dtype_from_name(name)) {
        const auto args = values(call, 1, span);
        return args ? builder_.cast(*dtype, (*args)[0], span) : Value{};
    }
    if (name == "where") {
        const auto args = values(call, 3, span);
        return args ? builder_.add(ir::Select{(*args)[0], (*args)[1], (*args)[2]}, span) : Value{};
    }
    if (name == "flip") return flip(call, span);
    if (name == "matmul") return matmul(call, span);
    if (name == "attention") return attention(call, span);
    if (name == "scores_logsumexp") {
        const auto args = values(call, 1, span);
        return args ? builder_.add(ir::LogSumExp{(*args)[0]}, span) : Value{};
    }
    if (find_composite(name)) return composite(call, span);
    if (names_kernel(call)) {
        const auto results = call_kernel(call, span, name);
        if (results.size() == 1) return results[0];
        if (!results.empty())
            reporter_.error(code::call_outputs, span,
                            fmt::format("'{}' has {} outputs, so it cannot be an operand.", name,
                                        results.size()),
                            "Name its outputs on a line of their own: `a, b = two(x)`.");
        return {};
    }
    unknown_function(call);
    return {};
}

void Evaluator::unknown_function(const ast::Call& call) {
    if (reporter_.full()) return;  // a suggestion costs time
    auto names = function_names();
    if (in_pipeline_)
        for (const auto& [name, kernel] : kernels_.kernels) names.push_back(name);
    const std::string near = nearest(call.function.text, names);
    const std::string_view cure = cure_for_function(call.function.text);
    reporter_.error(code::unknown_function, call.function.span,
                    fmt::format("There is no function {}'{}'.", in_pipeline_ ? "or kernel " : "",
                                call.function.text),
                    !cure.empty()   ? std::string(cure)
                    : !near.empty() ? fmt::format("Did you mean '{}'?", near)
                                    : "Use the operators and the functions of the language.");
}

void Evaluator::unknown_word(std::string_view what, const ast::Word& word, std::string fix) {
    reporter_.error(code::unknown_argument, span_of(word.span),
                    fmt::format("There is no {} '{}'.", what, word.text), std::move(fix));
}

Value Evaluator::flip(const ast::Call& call, Span span) {
    const Signature signature{"flip", {{}, {"over", ArgumentKind::dims, true, false, {}}}};
    const auto bound = bind(signature, call, span);
    if (!bound) return {};
    const auto& over = std::get<std::vector<ir::DimId>>((*bound)[1]);
    if (over.size() != 1) {
        reporter_.error(code::flip, span, "`flip` reverses one dimension at a time.",
                        "Flip the result again along the next one.");
        return {};
    }
    return builder_.add(ir::Flip{std::get<ir::ExprId>((*bound)[0]), over.front()}, span);
}

Value Evaluator::scan(ir::ScanOp op, const ast::Call& call, Span span) {
    const Signature signature{ir::info(op).name,
                              {{},
                               {"over", ArgumentKind::dims, true, false, {}},
                               {"from", ArgumentKind::word, false, false, {}}}};
    auto bound = bind(signature, call, span);
    if (!bound) return {};
    ir::Scan node{op, std::get<ir::ExprId>((*bound)[0]),
                  std::get<std::vector<ir::DimId>>(std::move((*bound)[1]))};
    if (const auto* word = std::get_if<ast::Word>(&(*bound)[2])) {
        if (word->text != "start" && word->text != "end") {
            unknown_word("place to begin", *word, "Use `start` or `end`.");
            return {};
        }
        node.backwards = word->text == "end";
    }
    return builder_.add(node, span);
}

bool Evaluator::read_precision(const Argument& argument, ir::Precision& precision) {
    const auto* word = std::get_if<ast::Word>(&argument);
    if (!word) return true;
    if (word->text != "tf32" && word->text != "exact") {
        unknown_word("precision", *word, "Use `exact` or `tf32`.");
        return false;
    }
    precision = word->text == "tf32" ? ir::Precision::tf32 : ir::Precision::exact;
    return true;
}

Value Evaluator::matmul(const ast::Call& call, Span span) {
    const auto bound = bind(matmul_signature(), call, span);
    if (!bound) return {};
    ir::Product product{std::get<ir::ExprId>((*bound)[0]), std::get<ir::ExprId>((*bound)[1]),
                        ir::Precision::exact};
    if (!read_precision((*bound)[2], product.precision)) return {};
    return builder_.add(product, span);
}

Value Evaluator::attention(const ast::Call& call, Span span) {
    const auto bound = bind(attention_signature(), call, span);
    if (!bound) return {};
    // The numbers below are positions in attention_signature().
    ir::Attention node;
    node.q = std::get<ir::ExprId>((*bound)[0]);
    node.k = std::get<ir::ExprId>((*bound)[1]);
    node.v = std::get<ir::ExprId>((*bound)[2]);
    if (const auto* word = std::get_if<ast::Word>(&(*bound)[3])) {
        if (word->text != "causal" && word->text != "none") {
            unknown_word("mask", *word,
                         "Use `causal` or `none`, and a `window`; other masks are a `bias`.");
            return {};
        }
        node.causal = word->text == "causal";
    }
    if (const auto* bias = std::get_if<ir::ExprId>(&(*bound)[4])) node.bias = *bias;
    if (const auto* word = std::get_if<ast::Word>(&(*bound)[5])) {
        if (word->text != "zero" && word->text != "nan") {
            unknown_word("`unseen` value", *word, "Use `nan`, as softmax gives, or `zero`.");
            return {};
        }
        node.empty_rows_are_zero = word->text == "zero";
    }
    if (!read_precision((*bound)[7], node.precision)) return {};
    if (const auto* cap = std::get_if<double>(&(*bound)[8])) node.cap = *cap;
    // 0 if it is not a whole number: type_of rejects such a window.
    if (const auto* window = std::get_if<double>(&(*bound)[9]))
        node.window = *window == std::floor(*window) && *window <= double{ir::kMaxWindow}
                          ? static_cast<std::int64_t>(*window)
                          : 0;
    const ir::Kernel& kernel = builder_.kernel();
    const auto& q_dims = kernel[node.q].type.dims;
    if (const auto* scale = std::get_if<double>(&(*bound)[6])) {
        node.scale = *scale;
    } else if (!q_dims.empty()) {
        const auto extent = ir::constant_extent(kernel, q_dims.back());
        if (!extent) {
            reporter_.error(
                code::attention_scale, span,
                fmt::format("Attention needs a scale: {} is known only at run time.",
                            kernel[q_dims.back()].name),
                fmt::format("Write {} as a number in the tensors, or add `scale: ` and a "
                            "number, usually 1 / sqrt of that extent.",
                            kernel[q_dims.back()].name));
            return {};
        }
        node.scale = 1 / std::sqrt(static_cast<double>(*extent));
    }
    if (std::isfinite(node.scale)) return builder_.add(node, span);
    reporter_.error(code::attention_scale, span, "The scale of attention must be finite.",
                    "Use a number such as 0.125.");
    return {};
}

Value Evaluator::composite(const ast::Call& call, Span span) {
    const Composite& function = *find_composite(call.function.text);
    auto bound = bind(function.signature, call, span);
    if (!bound) return {};
    CompositeNames names;
    for (std::size_t i = 0; i < bound->size(); ++i) {
        const std::string_view name = function.signature.parameters[i].name;
        if (const auto* value = std::get_if<ir::ExprId>(&(*bound)[i])) names.set(name, *value);
        if (auto* over = std::get_if<std::vector<ir::DimId>>(&(*bound)[i]))
            names.set_over(std::move(*over));
    }
    return inline_composite(function, builder_, names, kernels_, span);
}

}  // namespace fact::dsl

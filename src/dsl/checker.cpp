#include "dsl/checker.h"

#include <fmt/format.h>

#include "dsl/scope.h"
#include "dsl/words.h"
#include "ir/typing.h"
#include "support/result.h"

namespace fact::dsl {
namespace {

using Value = std::optional<ir::ExprId>;  // none: in error, already reported

code::Code code_of(ir::Fault fault) {
    switch (fault) {
        case ir::Fault::reference:
            break;
        case ir::Fault::literal:
            return code::number_range;
        case ir::Fault::cast:
            return code::f64_type;
        case ir::Fault::broadcast:
            return code::broadcast;
        case ir::Fault::needs_bool:
            return code::needs_bool;
        case ir::Fault::permutation:
            return code::permutation;
        case ir::Fault::product_rank:
            return code::product_rank;
        case ir::Fault::contraction:
            return code::contraction;
        case ir::Fault::product_dims:
            return code::product_dims;
        case ir::Fault::product_batch:
            return code::product_batch;
        case ir::Fault::product_types:
            return code::product_types;
        case ir::Fault::precision:
            return code::precision;
    }
    throw InternalError("the checker made a reference to nothing");
}

class Checker {
  public:
    Checker(const ast::Kernel& source, Reporter& reporter)
        : source_(source), reporter_(reporter), scope_(kernel_, reporter) {}

    ir::Kernel run() {
        kernel_.name = std::string(source_.name.text);
        scope_.declare(source_);
        values_.resize(source_.exprs.size());
        bool complete = true;
        for (const ast::Statement& statement : source_.body) {
            complete &= statement.value.has_value();
            Value value;
            Span at;
            if (statement.value) {
                const std::size_t last = position(*statement.value);
                for (std::size_t i = statement.first; i <= last; ++i)
                    values_[i] = expression(source_.exprs[i]);
                value = values_[last];
                at = source_.exprs[last].span;
            }
            scope_.define(statement.target, value, at);
        }
        scope_.finish(complete);
        return std::move(kernel_);
    }

  private:
    static std::size_t position(ast::ExprId id) { return static_cast<std::size_t>(id); }
    Value value(ast::ExprId id) const { return values_[position(id)]; }

    // Adds the node when its types fit.
    Value add(const ir::Node& node, Span span, const ir::Type& given = {}) {
        auto typing = ir::type_of(kernel_, node, given);
        if (const auto* error = std::get_if<ir::TypeError>(&typing)) {
            reporter_.error(code_of(error->fault), span, error->message, error->fix);
            return {};
        }
        return kernel_.add({node, std::get<ir::Type>(std::move(typing)), {}, span});
    }

    Value expression(const ast::Expr& expr) {
        const Span span = expr.span;
        return std::visit(
            overloaded{
                [&](const ast::Name& n) { return scope_.use({n.text, span}).value; },
                [&](const ast::Number& n) {
                    return add(ir::Literal{n.value}, span,
                               {n.integer ? DType::i32 : DType::f32, {}});
                },
                [&](const ast::Truth& n) {
                    return add(ir::Literal{n.value ? 1.0 : 0.0}, span, {DType::boolean, {}});
                },
                [&](const ast::Index& n) -> Value {
                    const auto dim = scope_.dim(n.dim);
                    return dim ? add(ir::Index{*dim}, span) : Value{};
                },
                [&](const ast::Unary& n) -> Value {
                    const auto x = value(n.x);
                    return x ? add(ir::Unary{n.op, *x}, span) : Value{};
                },
                [&](const ast::Binary& n) { return binary(n.op, value(n.a), value(n.b), span); },
                [&](const ast::Matmul& n) -> Value {
                    const auto a = value(n.a), b = value(n.b);
                    return a && b ? add(ir::Product{*a, *b}, span) : Value{};
                },
                [&](const ast::Call& n) { return call(n, span); },
                [&](const ast::Transpose& n) { return transpose(value(n.x), span); },
                [&](const ast::Permute& n) { return permute(n, span); },
            },
            expr.node);
    }

    Value binary(ir::BinaryOp op, Value a, Value b, Span span) {
        return a && b ? add(ir::Binary{op, *a, *b}, span) : Value{};
    }

    Value reorder(ir::ExprId x, std::vector<ir::DimId> dims, Span span) {
        // A view of an unnamed view is one view, so that views do not pile up.
        const auto* inner = std::get_if<ir::Permute>(&kernel_[x].node);
        if (inner && kernel_[x].name.empty()) x = inner->x;
        if (kernel_[x].type.dims == dims) return x;
        return add(ir::Permute{x}, span, {DType::f32, std::move(dims)});
    }

    Value transpose(Value x, Span span) {
        if (!x) return {};
        auto dims = kernel_[*x].type.dims;
        if (dims.size() < 2) {
            reporter_.error(code::transpose_rank, span,
                            fmt::format("`.T` swaps the last two dimensions, but this has {}.",
                                        ir::to_string(kernel_, dims)),
                            "Remove `.T`.");
            return {};
        }
        std::swap(dims.end()[-1], dims.end()[-2]);
        return reorder(*x, std::move(dims), span);
    }

    Value permute(const ast::Permute& node, Span span) {
        std::vector<ir::DimId> dims;
        for (const ast::Word& word : node.dims)
            if (const auto dim = scope_.dim(word)) dims.push_back(*dim);
        const auto x = value(node.x);
        return x && dims.size() == node.dims.size() ? reorder(*x, std::move(dims), span) : Value{};
    }

    Value call(const ast::Call& call, Span span) {
        const std::string_view name = call.function.text;
        const auto unary = ir::find_unary_function(name);
        const auto binary_op = ir::find_binary_function(name);
        const auto dtype = dtype_from_name(name);
        std::size_t count = 0;
        if (unary || dtype)
            count = 1;
        else if (binary_op || name == "matmul")
            count = 2;
        else if (name == "where" || name == "clamp")
            count = 3;
        else
            return unknown_function(call);
        const auto precision = named_arguments(call);
        if (!precision) return {};
        if (call.arguments.size() != count) {
            reporter_.error(code::argument_count, span,
                            fmt::format("`{}` takes {} argument{}, not {}.", name, count,
                                        count == 1 ? "" : "s", call.arguments.size()),
                            fmt::format("Give it {}.", count));
            return {};
        }
        ir::ExprId args[3];
        for (std::size_t i = 0; i < count; ++i) {
            if (!value(call.arguments[i])) return {};
            args[i] = *value(call.arguments[i]);
        }
        if (unary) return add(ir::Unary{*unary, args[0]}, span);
        if (binary_op) return add(ir::Binary{*binary_op, args[0], args[1]}, span);
        if (dtype)
            return kernel_[args[0]].type.dtype == *dtype
                       ? args[0]
                       : add(ir::Cast{args[0]}, span, {*dtype, {}});
        if (name == "where") return add(ir::Select{args[0], args[1], args[2]}, span);
        if (name == "clamp")
            return binary(ir::BinaryOp::min,
                          add(ir::Binary{ir::BinaryOp::max, args[0], args[1]}, span), args[2],
                          span);
        return add(ir::Product{args[0], args[1], *precision}, span);
    }

    Value unknown_function(const ast::Call& call) {
        const std::string near = nearest(call.function.text, function_names());
        reporter_.error(code::unknown_function, call.function.span,
                        fmt::format("There is no function '{}'.", call.function.text),
                        near.empty() ? "Use the operators and the functions of the language."
                                     : fmt::format("Did you mean '{}'?", near));
        return {};
    }

    // The precision of `matmul`, the one named argument so far; none when in error.
    std::optional<ir::Precision> named_arguments(const ast::Call& call) {
        ir::Precision precision = ir::Precision::exact;
        bool ok = true;
        for (const ast::NamedArgument& argument : call.named) {
            const auto complain = [&](Span at, std::string message, std::string fix) {
                reporter_.error(code::unknown_argument, at, std::move(message), std::move(fix));
                ok = false;
            };
            if (call.function.text != "matmul" || argument.name.text != "precision")
                complain(argument.name.span,
                         fmt::format("`{}` has no argument '{}'.", call.function.text,
                                     argument.name.text),
                         "Remove it; only `matmul` has one, `precision: exact` or `tf32`.");
            else if (argument.value.text == "tf32")
                precision = ir::Precision::tf32;
            else if (argument.value.text != "exact")
                complain(argument.value.span,
                         fmt::format("There is no precision '{}'.", argument.value.text),
                         "Use `exact` or `tf32`.");
        }
        return ok ? std::optional(precision) : std::nullopt;
    }

    const ast::Kernel& source_;
    Reporter& reporter_;
    ir::Kernel kernel_;
    Scope scope_;
    std::vector<Value> values_;  // by syntax node
};

}  // namespace

std::optional<ir::Kernel> check(const ast::Kernel& kernel, Reporter& reporter) {
    const int before = reporter.count();
    ir::Kernel checked = Checker(kernel, reporter).run();
    if (reporter.count() != before) return std::nullopt;
    return checked;
}

}  // namespace fact::dsl

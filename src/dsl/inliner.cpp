#include "dsl/inliner.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/dim_map.h"
#include "ir/typing.h"

namespace fact::dsl {
namespace {

using ir::DimId;
using ir::index;

class Inliner {
  public:
    Inliner(NodeBuilder& builder, const ir::Kernel& callee,
            const std::vector<CallArgument>& arguments, Span span, std::string_view prefix)
        : builder_(builder),
          callee_(callee),
          arguments_(arguments),
          span_(span),
          prefix_(prefix),
          dims_(callee, builder) {}

    std::vector<Value> run() {
        if (!check_types() || !match_dims() || !take_multiples() || !copy()) return {};
        std::vector<Value> results;
        for (const ir::Output& output : callee_.outputs) {
            const auto value =
                builder_.cast(output.tensor.type.dtype, copies_[index(output.value)], span_);
            if (!value) return {};
            ir::Expr& expr = builder_.kernel().exprs[index(*value)];
            // An output that is just an argument is left as it is.
            if (index(*value) >= first_) {
                expr.name.clear();  // it gets the name that the caller gives it
                expr.stored = true;
            }
            results.push_back(value);
        }
        return results;
    }

  private:
    bool check_types() {
        bool ok = true;
        for (std::size_t i = 0; i < arguments_.size(); ++i) {
            const ir::Type& wanted = callee_.params[i].type;
            const ir::Type& actual = builder_.kernel()[arguments_[i].value].type;
            const std::string& name = callee_.params[i].name;
            if (actual.dims.size() != wanted.dims.size()) {
                fail(code::call_dims, arguments_[i].span,
                     fmt::format("'{}' of '{}' has dimensions {}, but this has {}.", name,
                                 callee_.name, ir::to_string(callee_, wanted.dims),
                                 ir::to_string(builder_.kernel(), actual.dims)),
                     fmt::format("Pass a tensor with {} dimensions.", wanted.dims.size()));
                ok = false;
            } else if (actual.dtype != wanted.dtype) {
                fail(code::call_type, arguments_[i].span,
                     fmt::format("'{}' of '{}' is {}, but this is {}.", name, callee_.name,
                                 info(wanted.dtype).name, info(actual.dtype).name),
                     fmt::format("Cast it: `{}(...)`.", info(wanted.dtype).name));
                ok = false;
            }
        }
        return ok;
    }

    bool match_dims() {
        for (const bool factored : {false, true})
            for (std::size_t i = 0; i < arguments_.size(); ++i)
                if (!dims_.match(callee_.params[i].type,
                                 builder_.kernel()[arguments_[i].value].type, factored,
                                 arguments_[i].span))
                    return false;
        return true;
    }

    // The callee's rules for its extents become rules for the caller's.
    bool take_multiples() {
        ir::Kernel& caller = builder_.kernel();
        for (const ir::Multiple& rule : callee_.multiples) {
            const auto dim = dims_(rule.dim, span_);
            if (!dim) return false;
            std::int64_t constant = 1;
            bool all_constant = true;
            for (const DimId factor : caller.factors({*dim})) {
                all_constant &= caller[factor].extent.has_value();
                constant *= caller[factor].extent.value_or(1);
            }
            if (constant % rule.of == 0) continue;  // true whatever the other factors are
            if (all_constant) {
                fail(code::call_dims, span_,
                     fmt::format("'{}' needs {} to be a multiple of {}, but here it is {}.",
                                 callee_.name, callee_[rule.dim].name, rule.of, constant),
                     "Pass tensors whose extents fit the kernel's.");
                return false;
            }
            const ir::Multiple mapped{*dim, rule.of};
            if (std::find(caller.multiples.begin(), caller.multiples.end(), mapped) ==
                caller.multiples.end())
                caller.multiples.push_back(mapped);
        }
        return true;
    }

    // Copies every expression of the callee, with the caller's dimensions.
    bool copy() {
        first_ = builder_.kernel().exprs.size();
        for (const ir::Expr& expr : callee_.exprs) {
            if (const auto* param = std::get_if<ir::Param>(&expr.node)) {
                copies_.push_back(arguments_[param->index].value);
                continue;
            }
            const auto dims = dims_(expr.type.dims, span_);
            if (!dims || !distinct(expr.type.dims, *dims)) return false;
            auto node = moved(expr.node);
            if (!node) return false;
            const Value value = builder_.add(std::move(*node), span_, {expr.type.dtype, *dims});
            if (!value) return false;
            ir::Expr& copied = builder_.kernel().exprs[index(*value)];
            copied.stored = expr.stored;
            copied.span = expr.span;  // in the callee
            // A product always needs a name, by which schedules find it.
            const bool is_product = std::holds_alternative<ir::Product>(expr.node) ||
                                    std::holds_alternative<ir::Attention>(expr.node);
            if (is_product || !expr.name.empty())
                copied.name = builder_.unique_name(
                    fmt::format("{}_{}", prefix_, expr.name.empty() ? "acc" : expr.name));
            copies_.push_back(*value);
        }
        return true;
    }

    std::optional<ir::Node> moved(ir::Node node) {
        ir::for_each_operand(node, [&](ir::ExprId& id) { id = copies_[index(id)]; });
        bool ok = true;
        ir::for_each_dim(node, [&](DimId& dim) {
            const auto mapped = ok ? dims_(dim, span_) : std::nullopt;
            ok = mapped.has_value();
            if (ok) dim = *mapped;
        });
        if (!ok) return std::nullopt;
        return node;
    }

    // Two dimensions of the callee must not become one: the value would lose one of them.
    bool distinct(const std::vector<DimId>& own, const std::vector<DimId>& mapped) {
        for (std::size_t i = 0; i < mapped.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (mapped[i] == mapped[j]) {
                    fail(code::call_dims, span_,
                         fmt::format("Dimensions {} and {} of '{}' would both be {}.",
                                     callee_[own[j]].name, callee_[own[i]].name, callee_.name,
                                     builder_.kernel()[mapped[i]].name),
                         "Give the dimensions of the arguments different names.");
                    return false;
                }
        return true;
    }

    void fail(code::Code code, Span at, std::string message, std::string fix) {
        builder_.reporter().error(code, at, std::move(message), std::move(fix));
    }

    NodeBuilder& builder_;
    const ir::Kernel& callee_;
    const std::vector<CallArgument>& arguments_;
    Span span_;
    std::string_view prefix_;
    DimMap dims_;
    std::size_t first_ = 0;           // the first expression of this call
    std::vector<ir::ExprId> copies_;  // by the callee's expression
};

}  // namespace

std::vector<Value> inline_kernel(NodeBuilder& builder, const ir::Kernel& callee,
                                 const std::vector<CallArgument>& arguments, Span span,
                                 std::string_view prefix) {
    if (builder.exhausted()) return {};
    return Inliner(builder, callee, arguments, span, prefix).run();
}

void tidy_outputs(ir::Kernel& pipeline) {
    std::vector<bool> read(pipeline.exprs.size());
    const auto live = ir::reachable(pipeline);
    for (std::size_t i = 0; i < pipeline.exprs.size(); ++i)
        if (live[i])
            ir::for_each_operand(pipeline.exprs[i].node,
                                 [&](ir::ExprId id) { read[index(id)] = true; });
    for (ir::Output& output : pipeline.outputs) {
        if (read[index(output.value)]) continue;
        ir::Expr& expr = pipeline.exprs[index(output.value)];
        expr.stored = false;
        const auto* cast = std::get_if<ir::Cast>(&expr.node);
        if (!cast || expr.type.dtype != output.tensor.type.dtype) continue;
        ir::Expr& operand = pipeline.exprs[index(cast->x)];
        const bool rounds = info(operand.type.dtype).floating && info(expr.type.dtype).floating;
        if (!rounds || operand.stored || std::holds_alternative<ir::Param>(operand.node)) continue;
        output.value = cast->x;
        operand.name = expr.name;
    }
}

}  // namespace fact::dsl

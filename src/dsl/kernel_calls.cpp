// Calls of kernels in pipelines: functions of Evaluator (dsl/evaluator.h).
#include <fmt/format.h>

#include "dsl/evaluator.h"
#include "dsl/inliner.h"
#include "dsl/words.h"

namespace fact::dsl {

bool Evaluator::names_kernel(const ast::Call& call) const {
    const std::string_view name = call.function.text;
    const bool defined = kernels_.kernels.count(name) || kernels_.pipelines.count(name);
    return defined && !is_function(name);
}

std::vector<Value> Evaluator::call_kernel(const ast::Call& call, Span span,
                                          std::string_view prefix) {
    const std::string_view name = call.function.text;
    const auto fail = [&](code::Code code, Span at, std::string message, std::string fix) {
        reporter_.error(code, at, std::move(message), std::move(fix));
        return std::vector<Value>{};
    };
    if (!in_pipeline_)
        return fail(code::kernel_call, call.function.span,
                    fmt::format("A kernel cannot call '{}': only a pipeline calls kernels.", name),
                    "Write `pipeline` instead of `kernel`, or the kernel's statements instead of "
                    "the call.");
    const auto found = kernels_.kernels.find(name);
    if (found == kernels_.kernels.end())
        return fail(code::pipeline_call, call.function.span,
                    fmt::format("'{}' is a pipeline, which cannot be called.", name),
                    "Call its kernels.");
    if (!found->second) return {};  // the kernel has errors, which were reported
    const ir::Kernel& callee = *found->second;
    Signature signature{name, {}};
    for (const ir::Tensor& param : callee.params) signature.parameters.push_back({param.name});
    const auto bound = bind(signature, call, span);
    if (!bound) return {};
    std::vector<CallArgument> arguments;
    for (std::size_t i = 0; i < bound->size(); ++i) {
        Span at = span;
        if (i < call.arguments.size()) at = syntax(call.arguments[i]).span;
        for (const ast::NamedArgument& named : call.named)
            if (named.name.text == callee.params[i].name) at = named.span;
        arguments.push_back({std::get<ir::ExprId>((*bound)[i]), at});
    }
    return inline_kernel(builder_, callee, arguments, span, prefix);
}

}  // namespace fact::dsl

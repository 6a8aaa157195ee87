#include "dsl/composite_call.h"

#include "dsl/composite_names.h"
#include "dsl/prelude.h"
#include "support/result.h"

namespace fact::dsl {

ir::ExprId call_composite(ir::Kernel& kernel, std::string_view function,
                          const std::map<std::string_view, ir::ExprId>& values,
                          const std::vector<ir::DimId>& over) {
    const Composite* composite = find_composite(function);
    if (!composite) throw InternalError("no composite function " + std::string(function));
    Diagnostics diagnostics;
    Reporter reporter(diagnostics);
    Budget budget;
    NodeBuilder builder(kernel, reporter, budget);
    CompositeNames names;
    names.set_over(over);
    for (const Parameter& parameter : composite->signature.parameters) {
        if (parameter.kind == ArgumentKind::dims) continue;
        const auto found = values.find(parameter.name);
        if (found != values.end())
            names.set(parameter.name, found->second);
        else if (parameter.default_value)
            names.set(parameter.name,
                      builder.add(ir::Literal{*parameter.default_value}, {}, {DType::f32, {}}));
        else
            throw InternalError(std::string(function) + " needs " + std::string(parameter.name));
    }
    const KernelTable no_kernels;
    const Value result = inline_composite(*composite, builder, names, no_kernels, {});
    if (!result) throw InternalError(std::string(function) + " does not fit its operands");
    return *result;
}

}  // namespace fact::dsl

#include "dsl/composite_names.h"

#include "support/result.h"

namespace fact::dsl {

Value CompositeNames::value(const ast::Word& name) {
    const auto found = values_.find(name.text);
    if (found == values_.end())
        throw InternalError("a composite function uses an unknown name " + std::string(name.text));
    return found->second;
}

Value inline_composite(const Composite& function, NodeBuilder& builder, CompositeNames& names,
                       const KernelTable& kernels, Span at) {
    // Composites call only simpler ones, so the depth of calls does not depend on the text.
    Evaluator inside(builder, names, kernels, false, at);
    Value result;
    for (const ast::Statement& statement : function.body.statements) {
        result = inside.evaluate(function.body, statement)[0];
        if (!result) return {};
        names.set(statement.targets[0].text, result);
    }
    return result;
}

}  // namespace fact::dsl

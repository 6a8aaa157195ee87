#include "dsl/checker.h"

#include "dsl/inliner.h"
#include "dsl/scope.h"

namespace fact::dsl {

std::optional<ir::Kernel> check(const ast::Kernel& source, const KernelTable& kernels,
                                Reporter& reporter, Budget& budget) {
    const int before = reporter.count();
    ir::Kernel kernel;
    kernel.name = std::string(source.name.text);
    kernel.span = source.name.span;
    NodeBuilder builder(kernel, reporter, budget);
    Scope scope(builder);
    scope.declare(source);
    Evaluator evaluator(builder, scope, kernels, source.pipeline);
    bool complete = true;  // every statement has a value
    for (const ast::Statement& statement : source.body.statements) {
        if (reporter.full()) return std::nullopt;
        std::vector<Value> values(statement.targets.size());
        Span at;
        if (statement.value) {
            values = evaluator.evaluate(source.body, statement);
            at = source.body.exprs[static_cast<std::size_t>(*statement.value)].span;
        }
        for (const Value& value : values) complete &= value.has_value();
        scope.define(statement, values, at);
    }
    scope.finish(complete);
    if (reporter.count() != before || !complete) return std::nullopt;
    if (source.pipeline) tidy_outputs(kernel);
    ir::drop_dead(kernel);
    return kernel;
}

}  // namespace fact::dsl

// Matches the arguments of a call with the function's parameters: functions of Evaluator
// (dsl/evaluator.h).
#include <fmt/format.h>

#include <algorithm>

#include "dsl/evaluator.h"
#include "dsl/foreign.h"
#include "support/result.h"

namespace fact::dsl {
namespace {

bool takes_position(const Parameter& parameter) {
    return parameter.kind == ArgumentKind::value && parameter.positional;
}

std::string_view form_of(ArgumentKind kind) {
    switch (kind) {
        case ArgumentKind::value:
            return "an expression";
        case ArgumentKind::dims:
            return "a dimension, or several as `[N, S]`";
        case ArgumentKind::word:
            return "a word";
        case ArgumentKind::number:
            return "a number, such as 0.125 or `rsqrt(extent(64))`";
    }
    throw InternalError("an argument of no kind");
}

}  // namespace

std::optional<std::vector<Evaluator::Argument>> Evaluator::bind(const Signature& signature,
                                                                const ast::Call& call, Span span) {
    std::vector<Argument> bound(signature.parameters.size());
    std::vector<bool> is_set(bound.size());
    bool ok = true;
    std::size_t next = 0, most = 0, least = 0;
    for (const Parameter& parameter : signature.parameters) {
        most += takes_position(parameter);
        // A parameter with a name may be passed by name instead.
        least += takes_position(parameter) && parameter.required && parameter.name.empty();
    }
    const std::size_t count = call.arguments.size();
    if (count > most || count < least) {
        const std::size_t expected = std::clamp(count, least, most);
        reporter_.error(code::argument_count, span,
                        fmt::format("`{}` takes {} argument{}, not {}.", signature.function,
                                    expected, expected == 1 ? "" : "s", count),
                        fmt::format("Give it {}.", expected));
        return std::nullopt;
    }
    for (const ast::ExprId id : call.arguments) {
        while (!takes_position(signature.parameters[next])) ++next;
        is_set[next] = true;
        if (value(id))
            bound[next] = *value(id);
        else
            ok = false;
        ++next;
    }
    ok &= bind_named(signature, call, bound, is_set);
    for (std::size_t i = 0; i < bound.size() && ok; ++i) {
        const Parameter& parameter = signature.parameters[i];
        if (!is_set[i] && parameter.required) {
            reporter_.error(
                code::missing_argument, span,
                fmt::format("`{}` needs its argument '{}'.", signature.function, parameter.name),
                fmt::format("Add `{}: ` and {}.", parameter.name, form_of(parameter.kind)));
            ok = false;
        } else if (!is_set[i] && parameter.default_value) {
            const Value literal = builder_.add(ir::Literal{*parameter.default_value}, span);
            if (!literal) return std::nullopt;
            bound[i] = *literal;
        }
    }
    return ok ? std::optional(std::move(bound)) : std::nullopt;
}

bool Evaluator::bind_named(const Signature& signature, const ast::Call& call,
                           std::vector<Argument>& bound, std::vector<bool>& is_set) {
    bool ok = true;
    const auto complain = [&](code::Code code, Span at, std::string message, std::string fix) {
        reporter_.error(code, span_of(at), std::move(message), std::move(fix));
        ok = false;
    };
    for (const ast::NamedArgument& named : call.named) {
        const std::string_view name = named.name.text;
        const auto found =
            std::find_if(signature.parameters.begin(), signature.parameters.end(),
                         [&](const Parameter& parameter) { return parameter.name == name; });
        if (found == signature.parameters.end()) {
            std::vector<std::string> names;
            for (const Parameter& parameter : signature.parameters)
                if (!parameter.name.empty()) names.emplace_back(parameter.name);
            const std::string near = nearest(name, names);
            const std::string_view cure = cure_for_argument(signature.function, name);
            complain(code::unknown_argument, named.name.span,
                     fmt::format("`{}` has no argument '{}'.", signature.function, name),
                     !cure.empty()   ? std::string(cure)
                     : !near.empty() ? fmt::format("Did you mean '{}'?", near)
                     : names.empty() ? "Remove it."
                                     : fmt::format("Use one of {}.", fmt::join(names, ", ")));
            continue;
        }
        const std::size_t i = static_cast<std::size_t>(found - signature.parameters.begin());
        if (is_set[i]) {
            complain(code::repeated_argument, named.name.span,
                     fmt::format("The argument '{}' is given twice.", name),
                     "Remove one of the two.");
            continue;
        }
        is_set[i] = true;
        if (auto value = argument(*found, named))
            bound[i] = std::move(*value);
        else
            ok = false;
    }
    return ok;
}

std::optional<Evaluator::Argument> Evaluator::argument(const Parameter& parameter,
                                                       const ast::NamedArgument& named) {
    const auto* word = std::get_if<ast::Word>(&named.value);
    const auto* list = std::get_if<std::vector<ast::Dim>>(&named.value);
    const auto* id = std::get_if<ast::ExprId>(&named.value);
    if (parameter.kind == ArgumentKind::word && word) return *word;
    if (parameter.kind == ArgumentKind::value && (word || id)) {
        const Value found =
            word ? names_.value({word->text, span_of(word->span)}) : this->value(*id);
        return found ? std::optional<Argument>(*found) : std::nullopt;
    }
    if (parameter.kind == ArgumentKind::dims && list && !list->empty()) {
        auto found = dims(*list);
        return found ? std::optional<Argument>(std::move(*found)) : std::nullopt;
    }
    if (parameter.kind == ArgumentKind::number && id)
        if (const auto number = constant(*id)) return *number;
    reporter_.error(
        code::argument_kind, span_of(named.span),
        fmt::format("'{}' must be {}; this is not.", parameter.name, form_of(parameter.kind)),
        fmt::format("Write {} after `{}:`.", form_of(parameter.kind), parameter.name));
    return std::nullopt;
}

std::optional<std::vector<ir::ExprId>> Evaluator::values(const ast::Call& call, std::size_t count,
                                                         Span span) {
    const Signature signature{call.function.text, std::vector<Parameter>(count)};
    const auto bound = bind(signature, call, span);
    if (!bound) return std::nullopt;
    std::vector<ir::ExprId> out;
    for (const Argument& argument : *bound) out.push_back(std::get<ir::ExprId>(argument));
    return out;
}

}  // namespace fact::dsl

#include "match/formulas/formula.h"

#include <algorithm>

#include "support/result.h"

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;

std::optional<Meanings> FormulaReader::read(ExprId id, const Formula& formula, Meanings meanings) {
    if (!fits(id, formula, meanings, [] { return true; })) return std::nullopt;
    return meanings;
}

std::optional<ExprId> FormulaReader::mean_of(ExprId id) {
    const auto* ratio = numbering_.as<ir::Binary>(id);
    if (!ratio || ratio->op != BinaryOp::div) return std::nullopt;
    const auto* sum = numbering_.as<ir::Reduce>(ratio->a);
    const auto* count = numbering_.as<ir::Extent>(ratio->b);
    if (!sum || !count || sum->op != ir::ReduceOp::sum || sum->over != std::vector{along_} ||
        count->dim != along_)
        return std::nullopt;
    return sum->x;
}

bool FormulaReader::fits(ExprId id, const Formula& formula, Meanings& meanings,
                         const Continue& match_rest) {
    const auto& parts = formula.parts;
    const auto fits_part = [&](std::optional<ExprId> x) {
        return x && fits(*x, parts.front(), meanings, match_rest);
    };
    return std::visit(
        overloaded{
            [&](formula::Any any) { return fits_letter(id, any.letter, meanings, match_rest); },
            [&](formula::Number number) {
                return fits_number(id, number.letter, meanings, match_rest);
            },
            [&](formula::Unary wanted) {
                const auto* unary = numbering_.as<ir::Unary>(id);
                return unary && unary->op == wanted.op && fits_part(unary->x);
            },
            [&](formula::Binary wanted) {
                return fits_binary(id, wanted.op, parts, meanings, match_rest);
            },
            [&](formula::Mean) { return fits_part(mean_of(id)); },
            [&](formula::Either) {
                return std::ranges::any_of(parts, [&](const Formula& part) {
                    return fits(id, part, meanings, match_rest);
                });
            },
        },
        formula.kind);
}

bool FormulaReader::fits_letter(ExprId id, char letter, Meanings& meanings,
                                const Continue& match_rest) {
    const ExprId expr = numbering_.representative(id);
    const auto [at, added] = meanings.exprs.try_emplace(letter, expr);
    if (numbering_.same(at->second, expr) && match_rest()) return true;
    if (added) meanings.exprs.erase(letter);
    return false;
}

bool FormulaReader::fits_number(ExprId id, char letter, Meanings& meanings,
                                const Continue& match_rest) {
    const auto* literal = numbering_.as<ir::Literal>(id);
    if (!literal) return false;
    const auto [at, added] = meanings.numbers.try_emplace(letter, literal->value);
    if (at->second == literal->value && match_rest()) return true;
    if (added) meanings.numbers.erase(letter);
    return false;
}

bool FormulaReader::fits_binary(ExprId id, BinaryOp op, const std::vector<Formula>& parts,
                                Meanings& meanings, const Continue& match_rest) {
    const auto* binary = numbering_.as<ir::Binary>(id);
    if (!binary || binary->op != op) return false;
    const auto both = [&](ExprId a, ExprId b) {
        return fits(a, parts[0], meanings, [&] { return fits(b, parts[1], meanings, match_rest); });
    };
    const auto [kind, a, b] = *binary;
    const bool commutes = op == BinaryOp::add || op == BinaryOp::mul;
    return both(a, b) || (commutes && both(b, a));
}

}  // namespace fact::match

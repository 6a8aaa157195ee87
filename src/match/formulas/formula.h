// Formulas that expressions are matched against, such as any('x') - mean(any('x')). A letter stands
// for any expression, for the same one throughout a formula; sums and products match in either
// order.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/kernel.h"
#include "match/formulas/numbering.h"

namespace fact::match {

struct Formula;

namespace formula {

struct Any {
    char letter;
};
struct Number {  // a literal
    char letter;
};
struct Unary {
    ir::UnaryOp op;
};
struct Binary {
    ir::BinaryOp op;
};
struct Mean {};    // over FormulaReader's dimension
struct Either {};  // any of its parts, tried in order

using Kind = std::variant<Any, Number, Unary, Binary, Mean, Either>;

}  // namespace formula

struct Formula {
    formula::Kind kind;
    std::vector<Formula> parts = {};  // operands, or the alternatives of Either
};

inline Formula any(char letter) {
    return {formula::Any{letter}};
}
inline Formula number(char letter) {
    return {formula::Number{letter}};
}
inline Formula operator+(Formula a, Formula b) {
    return {formula::Binary{ir::BinaryOp::add}, {std::move(a), std::move(b)}};
}
inline Formula operator-(Formula a, Formula b) {
    return {formula::Binary{ir::BinaryOp::sub}, {std::move(a), std::move(b)}};
}
inline Formula operator*(Formula a, Formula b) {
    return {formula::Binary{ir::BinaryOp::mul}, {std::move(a), std::move(b)}};
}
inline Formula sqrt(Formula x) {
    return {formula::Unary{ir::UnaryOp::sqrt}, {std::move(x)}};
}
inline Formula rsqrt(Formula x) {
    return {formula::Unary{ir::UnaryOp::rsqrt}, {std::move(x)}};
}
inline Formula reciprocal(Formula x) {
    return {formula::Unary{ir::UnaryOp::reciprocal}, {std::move(x)}};
}
inline Formula mean(Formula x) {
    return {formula::Mean{}, {std::move(x)}};
}
inline Formula either(std::vector<Formula> parts) {
    return {formula::Either{}, std::move(parts)};
}

// What the letters of a formula stand for.
struct Meanings {
    std::map<char, ir::ExprId> exprs;
    std::map<char, double> numbers;
};

// Matches expressions of a kernel against formulas. A mean is over the dimension `along`; two
// expressions are the same if `numbering` says so.
class FormulaReader {
  public:
    FormulaReader(Numbering& numbering, ir::DimId along) : numbering_(numbering), along_(along) {}

    // nullopt if the expression does not match. `meanings` fixes some letters beforehand.
    std::optional<Meanings> read(ir::ExprId id, const Formula& formula, Meanings meanings = {});

    // The x for which the expression is mean(x).
    std::optional<ir::ExprId> mean_of(ir::ExprId id);

  private:
    // Matches the parts of the formula that come after the current one; false makes the caller try
    // its next alternative.
    using Continue = std::function<bool()>;
    bool fits(ir::ExprId id, const Formula& formula, Meanings& meanings,
              const Continue& match_rest);
    bool fits_letter(ir::ExprId id, char letter, Meanings& meanings, const Continue& match_rest);
    bool fits_number(ir::ExprId id, char letter, Meanings& meanings, const Continue& match_rest);
    bool fits_binary(ir::ExprId id, ir::BinaryOp op, const std::vector<Formula>& parts,
                     Meanings& meanings, const Continue& match_rest);

    Numbering& numbering_;
    ir::DimId along_;
};

}  // namespace fact::match

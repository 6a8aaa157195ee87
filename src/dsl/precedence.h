// Precedence of operators: one table for parser, printer and formatter.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "dsl/lexer.h"
#include "ir/functions.h"

namespace fact::dsl {

// As in Python; all infix operators are left associative, comparisons do not chain.
namespace precedence {
inline constexpr int lowest = 1;
inline constexpr int logical_or = 1;
inline constexpr int logical_and = 2;
inline constexpr int logical_not = 3;
inline constexpr int comparison = 4;
inline constexpr int sum = 5;
inline constexpr int product = 6;
inline constexpr int negation = 7;
inline constexpr int atom = 8;
}  // namespace precedence

struct Infix {
    std::string_view text;
    std::optional<ir::BinaryOp> op;  // none: the matrix product
    int precedence;
};

inline constexpr Infix kInfix[] = {
    {"or", ir::BinaryOp::logical_or, precedence::logical_or},
    {"and", ir::BinaryOp::logical_and, precedence::logical_and},
    {"<", ir::BinaryOp::lt, precedence::comparison},
    {"<=", ir::BinaryOp::le, precedence::comparison},
    {">", ir::BinaryOp::gt, precedence::comparison},
    {">=", ir::BinaryOp::ge, precedence::comparison},
    {"==", ir::BinaryOp::eq, precedence::comparison},
    {"!=", ir::BinaryOp::ne, precedence::comparison},
    {"+", ir::BinaryOp::add, precedence::sum},
    {"-", ir::BinaryOp::sub, precedence::sum},
    {"*", ir::BinaryOp::mul, precedence::product},
    {"/", ir::BinaryOp::div, precedence::product},
    {"@", std::nullopt, precedence::product},
};

inline const Infix* find_infix(const Token& token) {
    for (const Infix& row : kInfix)
        if (token.is(row.text)) return &row;
    return nullptr;
}

// The row of an operator that is written between its operands; nullptr for min, max and pow.
constexpr const Infix* find_infix(ir::BinaryOp op) {
    for (const Infix& row : kInfix)
        if (row.op == op) return &row;
    return nullptr;
}

constexpr bool is_operator_word(std::string_view word) {
    return word == "and" || word == "or" || word == "not";
}

// Every infix operator has a row here, under its own name; all others are functions.
static_assert(std::ranges::all_of(ir::kBinary, [](const ir::BinaryInfo& binary) {
    const bool is_word = binary.name[0] >= 'a' && binary.name[0] <= 'z';
    const Infix* row = find_infix(binary.op);
    if (is_word && !is_operator_word(binary.name)) return row == nullptr;
    return row != nullptr && row->text == binary.name;
}));

}  // namespace fact::dsl

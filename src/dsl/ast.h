// A kernel text as it was written: names not yet resolved, nothing typed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/functions.h"
#include "support/diagnostics.h"

namespace fact::dsl::ast {

struct Word {  // views into the source text
    std::string_view text;
    Span span;
};

enum class ExprId : std::uint32_t {};

struct Name {
    std::string_view text;
};
struct Number {  // sign folded in: `-1` is a literal, `-(1)` a negation
    double value = 0;
    bool integer = false;
};
struct Truth {
    bool value = false;
};
struct Index {
    Word dim;
};
struct Unary {
    ir::UnaryOp op{};
    ExprId x{};
};
struct Binary {
    ir::BinaryOp op{};
    ExprId a{}, b{};
};
struct Matmul {
    ExprId a{}, b{};
};
struct NamedArgument {
    Word name, value;
};
struct Call {
    Word function;
    std::vector<ExprId> arguments;
    std::vector<NamedArgument> named;
};
struct Transpose {
    ExprId x{};
};
struct Permute {
    ExprId x{};
    std::vector<Word> dims;
};

using Node =
    std::variant<Name, Number, Truth, Index, Unary, Binary, Matmul, Call, Transpose, Permute>;

struct Expr {
    Node node;
    Span span;
};

// The nodes of a statement are exprs[first .. value], operands before users: a reader needs no
// recursion, however deep the expression is.
struct Statement {
    Word target;
    std::size_t first = 0;
    std::optional<ExprId> value;  // none where the expression could not be parsed
};

struct Tensor {
    Word name, dtype;
    std::vector<Word> dims;
    Span span;
};

struct Kernel {
    Word name;
    std::vector<Tensor> params, outputs;
    std::vector<Statement> body;
    std::vector<Expr> exprs;
    Span span;
};

// `persistent(raster: m)`, `128x256x64`, `auto`.
struct ScheduleArgument {
    Word name;
    std::vector<Word> values;
};
struct ScheduleValue {
    Word word;
    std::vector<ScheduleArgument> arguments;
};
struct ScheduleEntry {
    Word name;
    std::vector<ScheduleValue> values;  // alternatives
};
struct Schedule {
    Word kernel;
    std::optional<Word> product;
    Word arch;
    std::vector<ScheduleEntry> entries;
    Span span;
};

struct File {
    std::vector<Kernel> kernels;
    std::vector<Schedule> schedules;
};

}  // namespace fact::dsl::ast

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

struct Dim {  // `N`, `64` or `8*D`
    std::vector<Word> factors;
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
    Dim dim;
};
struct Extent {
    Dim dim;
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
// A single word stays a Word: the function's signature decides whether it is a value, a dimension
// or a keyword such as `tf32`.
struct NamedArgument {
    Word name;
    std::variant<Word, std::vector<Dim>, ExprId> value;
    Span span;  // of the value
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
    std::vector<Dim> dims;
};
struct Expand {
    ExprId x{};
    std::vector<Dim> dims;
};
struct View {
    ExprId x{};
    std::vector<Dim> dims;
};
struct Rename {  // `x.as(B, N, E)`
    ExprId x{};
    std::vector<Dim> dims;
};
struct Windowed {  // `H: P by R stride 2 dilation 2 pad 1 0`
    Dim of, places, taps;
    std::int64_t stride = 1, dilation = 1, before = 0, after = 0;
};
struct Window {  // `x.window(H: P by 3, W: Q by 3, outside: -inf)`
    ExprId x{};
    std::vector<Windowed> dims;
    std::optional<ExprId> outside;
};

using Node = std::variant<Name, Number, Truth, Index, Extent, Unary, Binary, Matmul, Call,
                          Transpose, Permute, Expand, View, Rename, Window>;

struct Expr {
    Node node;
    Span span;
};

// The nodes of a statement are exprs[first_expr .. value], operands before users, so that reading
// them needs no recursion.
struct Statement {
    std::vector<Word> targets;  // several for a kernel with several outputs
    bool stored = false;        // `stored h = ...`
    std::size_t first_expr = 0;
    std::optional<ExprId> value;  // nullopt if the expression could not be parsed
};

struct Body {
    std::vector<Statement> statements;
    std::vector<Expr> exprs;
};

struct Tensor {
    Word name, dtype;
    std::vector<Dim> dims;
    Span span;
};

// `N = 3*H*D`, or `K % 8 == 0`, which has a divisor instead.
struct Constraint {
    Dim dim;
    std::optional<Dim> factored;  // 3*H*D
    Word divisor;
    Span span;
};

struct Kernel {
    Word name;
    bool pipeline = false;  // may call kernels
    std::vector<Tensor> params, outputs;
    std::vector<Constraint> constraints;
    Body body;
    Span span;
};

struct ScheduleArgument {  // `raster: m`, `swizzle: {1, 2}`
    Word name;
    std::vector<Word> values;
};
struct ScheduleValue {  // `persistent(raster: m)`, `128x256x64`, `auto`
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
    std::vector<Kernel> kernels;  // and pipelines
    std::vector<Schedule> schedules;
};

}  // namespace fact::dsl::ast

#include "dsl/expression_parser.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "dsl/foreign.h"
#include "dsl/precedence.h"
#include "dsl/statement_parser.h"
#include "dsl/words.h"

namespace fact::dsl {
namespace {

class ExpressionParser {
  public:
    ExpressionParser(TokenStream& tokens, std::vector<ast::Expr>& exprs)
        : tokens_(tokens), exprs_(exprs) {}

    // An expression whose infix operators have at least the precedence `least`.
    ast::ExprId binary(int least) {
        const Deeper deeper(*this);
        ast::ExprId left = prefix(least);
        bool compared = false;
        while (true) {
            const Token& token = tokens_.peek();
            if (token.starts_line && brackets_ == 0) return left;
            const Infix* infix = find_infix(token);
            if (!infix || infix->precedence < least) return left;
            const bool compares = infix->precedence == precedence::comparison;
            if (compares && compared)
                tokens_.fail(code::chained_comparison, token.span,
                             "Comparisons do not chain: the first one gives bool.",
                             "Join two comparisons with `and`.");
            compared = compares;
            tokens_.take();
            if (token.is("*") && tokens_.peek().is("*"))
                tokens_.fail(code::unexpected, tokens_.peek().span, "There is no operator '**'.",
                             "Write `x * x`, or `pow(x, 2.0)`.");
            const ast::ExprId right = binary(infix->precedence + 1);
            const Span span{exprs_[index(left)].span.begin, exprs_[index(right)].span.end};
            if (infix->op)
                left = add(ast::Binary{*infix->op, left, right}, span);
            else
                left = add(ast::Matmul{left, right}, span);
        }
    }

  private:
    // Guards recursion, so that no text can exhaust the stack.
    struct Deeper {
        explicit Deeper(ExpressionParser& parser) : parser(parser) {
            if (++parser.depth_ > kMaxDepth)
                parser.tokens_.fail(
                    code::too_deep, parser.tokens_.peek().span,
                    fmt::format("The expression is nested more than {} deep.", kMaxDepth),
                    "Give an inner part a name on a line of its own.");
        }
        ~Deeper() { --parser.depth_; }
        ExpressionParser& parser;
    };
    // Inside brackets, an expression may continue on the next line.
    struct Bracket {
        explicit Bracket(ExpressionParser& parser) : parser(parser) { ++parser.brackets_; }
        ~Bracket() { --parser.brackets_; }
        ExpressionParser& parser;
    };

    static std::size_t index(ast::ExprId id) { return static_cast<std::size_t>(id); }

    ast::ExprId add(ast::Node node, Span span) {
        exprs_.push_back({std::move(node), span});
        return static_cast<ast::ExprId>(exprs_.size() - 1);
    }

    Span span_from(const Token& first) const {
        return {first.span.begin, tokens_.previous_span().end};
    }

    bool line_ended() const { return tokens_.peek().starts_line && brackets_ == 0; }

    ast::ExprId prefix(int least) {
        if (line_ended()) tokens_.fail_expected("an expression");
        const Token& first = tokens_.peek();
        if (first.is("not") && least <= precedence::logical_not) {
            tokens_.take();
            const ast::ExprId x = binary(precedence::logical_not);
            return add(ast::Unary{ir::UnaryOp::logical_not, x}, span_from(first));
        }
        if (!first.is("-")) return postfix();
        tokens_.take();
        if (!line_ended() && is_number(tokens_.peek())) return number(first, true);
        const Deeper deeper(*this);
        const ast::ExprId x = prefix(precedence::negation);
        return add(ast::Unary{ir::UnaryOp::neg, x}, span_from(first));
    }

    ast::ExprId postfix() {
        const Token& first = tokens_.peek();
        ast::ExprId x = primary();
        while (tokens_.peek().is(".") && !line_ended()) {
            tokens_.take();
            const ast::Word view =
                tokens_.expect_name("'T', 'permute', 'expand', 'view', 'as' or 'window'");
            if (view.text == "T")
                x = add(ast::Transpose{x}, span_from(first));
            else if (view.text == "permute" || view.text == "expand" || view.text == "view" ||
                     view.text == "as")
                x = reshaped(x, view.text, first);
            else if (view.text == "window")
                x = window(x, first);
            else
                unknown_view(view);
        }
        if (tokens_.peek().is("[") && !line_ended())
            tokens_.fail(code::unexpected, tokens_.peek().span, "Values are not indexed.",
                         "Write `take(x, over: 3, at: 0)` for one position along a dimension; to "
                         "get a part of a dimension, first split it with `.view(...)`.");
        return x;
    }

    [[noreturn]] void unknown_view(const ast::Word& view) {
        const std::string_view cure = cure_for_function(view.text);
        tokens_.fail(
            code::unknown_view, view.span, fmt::format("There is no view '.{}'.", view.text),
            is_function(view.text)
                ? fmt::format("It is a function, not a view: write `{}(x, ...)`.", view.text)
            : !cure.empty() ? std::string(cure)
                            : "Use `.T` to swap the last two dimensions, `.permute(...)`, "
                              "`.expand(...)`, `.view(...)`, `.as(...)` or `.window(...)`.");
    }

    // `.permute(M, K)`, `.expand(M, K)`, `.view(M, G*D)` or `.as(M, N)`, from the parenthesis on.
    ast::ExprId reshaped(ast::ExprId x, std::string_view how, const Token& first) {
        const Token& open = tokens_.peek();
        tokens_.expect("(", "'('");
        std::vector<ast::Dim> dims;
        do dims.push_back(parse_dim(tokens_));
        while (tokens_.accept(","));
        tokens_.expect_close(")", open);
        if (how == "as") return add(ast::Rename{x, std::move(dims)}, span_from(first));
        if (how == "view") return add(ast::View{x, std::move(dims)}, span_from(first));
        if (how == "expand") return add(ast::Expand{x, std::move(dims)}, span_from(first));
        return add(ast::Permute{x, std::move(dims)}, span_from(first));
    }

    // `.window(H: P by R stride 2 pad 1, outside: -inf)`, from the parenthesis on.
    ast::ExprId window(ast::ExprId x, const Token& first) {
        const Token& open = tokens_.peek();
        tokens_.expect("(", "'('");
        const Bracket bracket(*this);
        ast::Window window{x, {}, {}};
        do {
            if (tokens_.peek().is("outside") && tokens_.peek(1).is(":")) {
                tokens_.take(), tokens_.take();
                window.outside = prefix(precedence::negation);
            } else {
                window.dims.push_back(windowed());
            }
        } while (tokens_.accept(","));
        tokens_.expect_close(")", open);
        return add(std::move(window), span_from(first));
    }

    ast::Windowed windowed() {
        ast::Windowed dim;
        dim.of = parse_dim(tokens_);
        tokens_.expect(":", "':' and the places of windows, as in `H: P by 3`");
        dim.places = parse_dim(tokens_);
        tokens_.expect("by", "'by' and the length of a window, as in `H: P by 3`");
        dim.taps = parse_dim(tokens_);
        while (tokens_.peek().kind == TokenKind::name) {
            const ast::Word word = tokens_.expect_name("'stride', 'dilation' or 'pad'");
            if (word.text == "stride") {
                dim.stride = window_number(1);
            } else if (word.text == "dilation") {
                dim.dilation = window_number(1);
            } else if (word.text == "pad") {
                dim.before = dim.after = window_number(-kMaxWindowNumber);
                if (tokens_.peek().kind == TokenKind::integer || tokens_.peek().is("-"))
                    dim.after = window_number(-kMaxWindowNumber);
            } else {
                tokens_.fail(code::unexpected, word.span,
                             fmt::format("Windows have no '{}'.", word.text),
                             "Write `stride 2`, `dilation 2`, `pad 1`, or `pad 0 1` if the two "
                             "ends differ.");
            }
        }
        return dim;
    }

    // An integer of at least `least`, and small enough that coordinates stay 32-bit numbers.
    std::int64_t window_number(std::int64_t least) {
        const bool negative = least < 0 && tokens_.accept("-");
        const Token& token = tokens_.peek();
        if (token.kind != TokenKind::integer) tokens_.fail_expected("a whole number");
        tokens_.take();
        std::int64_t value = kMaxWindowNumber + 1;
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
        if (negative) value = -value;
        if (value < least || value > kMaxWindowNumber)
            tokens_.fail(code::number_range, token.span,
                         fmt::format("{} is out of range here.", token.text.substr(0, 40)),
                         fmt::format("Use a number from {} to {}.", least, kMaxWindowNumber));
        return value;
    }

    static bool is_number(const Token& token) {
        return token.kind == TokenKind::integer || token.kind == TokenKind::number ||
               token.is("inf");
    }

    ast::ExprId primary() {
        const Token& first = tokens_.peek();
        if (is_number(first)) return number(first, false);
        if (first.is("true") || first.is("false")) {
            tokens_.take();
            return add(ast::Truth{first.text == "true"}, first.span);
        }
        if (first.is("(")) {
            tokens_.take();
            const Bracket bracket(*this);
            const ast::ExprId x = binary(precedence::lowest);
            tokens_.expect_close(")", first);
            exprs_[index(x)].span = span_from(first);
            return x;
        }
        if (first.kind != TokenKind::name || is_operator_word(first.text))
            tokens_.fail_expected("an expression");
        tokens_.take();
        if (!tokens_.peek().is("(") || line_ended()) return add(ast::Name{first.text}, first.span);
        return call(first);
    }

    ast::ExprId number(const Token& first, bool negative) {
        const Token& token = tokens_.take();
        double value = std::numeric_limits<double>::infinity();
        if (token.kind != TokenKind::name) {
            const char* end = token.text.data() + token.text.size();
            const auto [stop, failure] = std::from_chars(token.text.data(), end, value);
            if (failure == std::errc::result_out_of_range || !std::isfinite(value))
                tokens_.fail(code::number_range, token.span,
                             fmt::format("{} is out of range.", token.text.substr(0, 40)),
                             "Write `inf` for infinity, and 0.0 for a number too small for a "
                             "double.");
        }
        if (negative) value = -value;
        const bool integer = token.kind == TokenKind::integer;
        if (integer && (value >= 0x1p31 || value < -0x1p31))
            tokens_.fail(code::number_range, token.span,
                         fmt::format("{} does not fit into i32.", token.text.substr(0, 40)),
                         "Add `.0` to make it floating.");
        if (integer && value == 0) value = 0;  // no negative zero among the integers
        return add(ast::Number{value, integer}, span_from(first));
    }

    ast::ExprId call(const Token& function) {
        const Token& open = tokens_.take();
        const Bracket bracket(*this);
        if (function.text == "index" || function.text == "extent") {
            ast::Dim dim = parse_dim(tokens_);
            tokens_.expect_close(")", open);
            if (function.text == "index")
                return add(ast::Index{std::move(dim)}, span_from(function));
            return add(ast::Extent{std::move(dim)}, span_from(function));
        }
        ast::Call call{{function.text, function.span}, {}, {}};
        if (!tokens_.accept(")")) {
            do {
                if (tokens_.peek().kind == TokenKind::name && tokens_.peek(1).is("="))
                    misspelt_argument(function.text);
                if (tokens_.peek().kind == TokenKind::name && tokens_.peek(1).is(":"))
                    call.named.push_back(named_argument());
                else
                    call.arguments.push_back(binary(precedence::lowest));
            } while (tokens_.accept(","));
            tokens_.expect_close(")", open);
        }
        return add(std::move(call), span_from(function));
    }

    // Reports `dim=1`, as Python writes it.
    [[noreturn]] void misspelt_argument(std::string_view function) {
        const std::string_view name = tokens_.peek().text;
        const std::string_view cure = cure_for_argument(function, name);
        tokens_.fail(code::unexpected, tokens_.peek(1).span,
                     "An argument's name is followed by ':', not by '='.",
                     cure.empty()
                         ? fmt::format("Write `{}: {}`.", name, tokens_.peek(2).text.substr(0, 40))
                         : std::string(cure));
    }

    ast::NamedArgument named_argument() {
        ast::NamedArgument argument{tokens_.expect_name("a name"), ast::Word{}, {}};
        tokens_.take();
        const Token& first = tokens_.peek();
        const Token& next = tokens_.peek(1);
        if (first.is("["))
            argument.value = parse_dims(tokens_);
        else if (argument.name.text == "over")
            argument.value = std::vector{parse_dim(tokens_)};
        else if (first.kind == TokenKind::name && (next.is(",") || next.is(")")) && is_word(first))
            argument.value = tokens_.expect_name("a value");
        else
            argument.value = binary(precedence::lowest);
        argument.span = span_from(first);
        return argument;
    }

    static bool is_word(const Token& token) {
        return !is_number(token) && !token.is("true") && !token.is("false") &&
               !is_operator_word(token.text);
    }

    static constexpr std::int64_t kMaxWindowNumber = 65535;
    static constexpr int kMaxDepth = 200;
    TokenStream& tokens_;
    std::vector<ast::Expr>& exprs_;
    int depth_ = 0, brackets_ = 0;
};

}  // namespace

ast::ExprId parse_expression(TokenStream& tokens, std::vector<ast::Expr>& exprs) {
    return ExpressionParser(tokens, exprs).binary(precedence::lowest);
}

}  // namespace fact::dsl

#include "dsl/parser.h"

#include <fmt/format.h>

#include "dsl/statement_parser.h"
#include "dsl/token_stream.h"

namespace fact::dsl {
namespace {

class Parser {
  public:
    Parser(const std::vector<Token>& tokens, Reporter& reporter) : tokens_(tokens, reporter) {}

    ast::File run() {
        while (!tokens_.at_end() && !tokens_.reporter().full()) {
            const std::size_t before = tokens_.position();
            try {
                definition();
            } catch (const SyntaxError&) {
                if (tokens_.position() == before) tokens_.take();
                tokens_.skip_block();
            }
        }
        return std::move(file_);
    }

  private:
    void definition() {
        if (tokens_.accept("kernel"))
            kernel(false);
        else if (tokens_.accept("pipeline"))
            kernel(true);
        else if (tokens_.accept("schedule"))
            schedule();
        else
            tokens_.fail_expected("'kernel', 'pipeline' or 'schedule'");
    }

    void kernel(bool pipeline) {
        ast::Kernel kernel;
        kernel.pipeline = pipeline;
        kernel.name = tokens_.expect_name(pipeline ? "the pipeline's name" : "the kernel's name");
        kernel.params = tensors();
        tokens_.expect("->", "'->'");
        const Span at = tokens_.peek().span;
        kernel.outputs = tensors();
        if (kernel.outputs.empty())
            tokens_.reporter().error(code::no_output, at, "There is no output.",
                                     "List at least one, for example `(y: f32[M, N])`.");
        if (tokens_.accept("where")) {
            do kernel.constraints.push_back(constraint());
            while (tokens_.accept(","));
        }
        const Token open = tokens_.peek();
        tokens_.expect("{", kernel.constraints.empty() ? "'where' or '{'" : "',' or '{'");
        while (!tokens_.peek().is("}")) {
            if (tokens_.at_end() || tokens_.at_definition() || tokens_.reporter().full()) {
                unclosed(open);
                break;
            }
            try {
                parse_statement(tokens_, kernel.body);
            } catch (const SyntaxError&) {
                tokens_.skip_line();
            }
        }
        tokens_.accept("}");
        kernel.span = {kernel.name.span.begin, tokens_.previous_span().end};
        file_.kernels.push_back(std::move(kernel));
    }

    void unclosed(const Token& open) {
        tokens_.reporter().error(code::unclosed, open.span, "This '{' is never closed.",
                                 "Add the missing '}'.");
    }

    std::vector<ast::Tensor> tensors() {
        const Token open = tokens_.peek();
        tokens_.expect("(", "'('");
        std::vector<ast::Tensor> list;
        if (tokens_.accept(")")) return list;
        do list.push_back(tensor());
        while (tokens_.accept(","));
        tokens_.expect_close(")", open);
        return list;
    }

    ast::Tensor tensor() {
        ast::Tensor tensor;
        tensor.name = tokens_.expect_name("a tensor's name");
        tokens_.expect(":", "':' and a type");
        tensor.dtype = tokens_.expect_name("an element type");
        // A scalar has no brackets or empty ones.
        if (tokens_.peek().is("[")) tensor.dims = parse_dims(tokens_);
        tensor.span = {tensor.name.span.begin, tokens_.previous_span().end};
        return tensor;
    }

    ast::Constraint constraint() {
        ast::Constraint constraint;
        constraint.dim = parse_dim(tokens_);
        if (tokens_.accept("%")) {
            constraint.divisor = integer("a number");
            tokens_.expect("==", "'== 0'");
            if (tokens_.peek().text != "0") tokens_.fail_expected("0");
            tokens_.take();
        } else {
            tokens_.expect("=", "'=' and a product, or '%'");
            constraint.factored = parse_dim(tokens_);
        }
        constraint.span = {constraint.dim.span.begin, tokens_.previous_span().end};
        return constraint;
    }

    ast::Word integer(std::string_view what) {
        if (tokens_.peek().kind != TokenKind::integer) tokens_.fail_expected(what);
        const Token& token = tokens_.take();
        return {token.text, token.span};
    }

    void schedule() {
        ast::Schedule schedule;
        schedule.kernel = tokens_.expect_name("a kernel's name");
        if (tokens_.accept(".")) schedule.product = tokens_.expect_name("a product's name");
        tokens_.expect("on", "'on'");
        schedule.arch = tokens_.expect_name("an architecture");
        schedule.span = {schedule.kernel.span.begin, schedule.arch.span.end};
        const Token open = tokens_.peek();
        tokens_.expect("{", "'{'");
        while (!tokens_.accept("}")) {
            if (tokens_.at_end() || tokens_.at_definition() || tokens_.reporter().full()) {
                unclosed(open);
                break;
            }
            const std::size_t before = tokens_.position();
            try {
                schedule.entries.push_back(entry());
            } catch (const SyntaxError&) {
                if (tokens_.position() == before) tokens_.take();
                tokens_.skip_line();
            }
        }
        file_.schedules.push_back(std::move(schedule));
    }

    ast::ScheduleEntry entry() {
        ast::ScheduleEntry entry;
        entry.name = tokens_.expect_name("an entry such as 'tile'");
        const Token open = tokens_.peek();
        if (!tokens_.accept("{")) {
            entry.values.push_back(value());
            return entry;
        }
        do entry.values.push_back(value());
        while (tokens_.accept(","));
        tokens_.expect_close("}", open);
        return entry;
    }

    ast::ScheduleValue value() {
        ast::ScheduleValue value{word("a value"), {}};
        const Token open = tokens_.peek();
        if (!tokens_.accept("(")) return value;
        if (tokens_.accept(")")) return value;
        do value.arguments.push_back(argument());
        while (tokens_.accept(","));
        tokens_.expect_close(")", open);
        return value;
    }

    ast::ScheduleArgument argument() {
        ast::ScheduleArgument argument{tokens_.expect_name("an argument's name"), {}};
        tokens_.expect(":", "':'");
        const Token open = tokens_.peek();
        if (!tokens_.accept("{")) {
            argument.values.push_back(word("a value"));
            return argument;
        }
        do argument.values.push_back(word("a value"));
        while (tokens_.accept(","));
        tokens_.expect_close("}", open);
        return argument;
    }

    ast::Word word(std::string_view what) {
        const TokenKind kind = tokens_.peek().kind;
        if (kind != TokenKind::name && kind != TokenKind::integer && kind != TokenKind::shape)
            tokens_.fail_expected(what);
        const Token& token = tokens_.take();
        return {token.text, token.span};
    }

    TokenStream tokens_;
    ast::File file_;
};

}  // namespace

ast::File parse(const std::vector<Token>& tokens, Reporter& reporter) {
    return Parser(tokens, reporter).run();
}

}  // namespace fact::dsl

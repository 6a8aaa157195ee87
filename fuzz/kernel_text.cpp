// Any text compiles or is refused at places that are in it; what compiles survives printing.
#include "dsl/dsl.h"
#include "require.h"

namespace fact::dsl {
namespace {

using fuzz::require;

std::optional<Program> compile_checked(std::string_view text) {
    Diagnostics diagnostics;
    auto program = compile(text, diagnostics);
    require(program.has_value() == diagnostics.ok(), "no program and no error, or both");
    for (const Diagnostic& item : diagnostics.items())
        require(item.span.begin <= item.span.end && item.span.end <= text.size(),
                item.code + " points outside of the text");
    render_all(diagnostics, "fuzz", text);
    render_json(diagnostics, "fuzz", text);
    return program;
}

std::string print_verified(const Program& program) {
    std::string text;
    for (const auto& kernels : {program.kernels, program.pipelines})
        for (const ir::Kernel& kernel : kernels) {
            require(ir::verify(kernel).empty(), ir::verify(kernel));
            text += to_text(kernel);
        }
    for (const ScheduleBlock& block : program.schedules) text += to_text(block);
    return text;
}

void check_format(std::string_view text, bool compiles) {
    Diagnostics diagnostics;
    const auto once = format(text, diagnostics);
    require(once || !compiles, "compiles, but cannot be formatted");
    if (!once) return;
    const auto twice = format(*once, diagnostics);
    require(twice == once, "formatted twice differs:\n" + *once + "-->\n" + twice.value_or(""));
    require(compile_checked(*once).has_value() == compiles, "formatting changed:\n" + *once);
}

void check(std::string_view text) {
    const auto program = compile_checked(text);
    check_format(text, program.has_value());
    if (!program) return;
    const std::string printed = print_verified(*program);
    const auto again = compile_checked(printed);
    require(again.has_value(), "printed, but does not compile:\n" + printed);
    const std::string twice = print_verified(*again);
    require(twice == printed, "printed twice differs:\n" + printed + "-->\n" + twice);
}

}  // namespace
}  // namespace fact::dsl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fact::dsl::check({reinterpret_cast<const char*>(data), size});
    return 0;
}

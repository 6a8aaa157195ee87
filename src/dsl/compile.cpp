// compile() and Program, which dsl/dsl.h declares.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dsl/checker.h"
#include "dsl/cuda_text.h"
#include "dsl/dsl.h"
#include "dsl/lexer.h"
#include "dsl/parser.h"
#include "dsl/pipeline_schedules.h"
#include "dsl/schedule_block.h"
#include "dsl/words.h"
#include "support/result.h"

namespace fact::dsl {
namespace {

void check_name(const ast::Word& name, std::set<std::string>& taken, Reporter& reporter) {
    if (is_reserved(name.text) || is_function(name.text))
        reporter.error(code::reserved_name, name.span,
                       fmt::format("'{}' is a word of the language.", name.text),
                       "Choose another name for the kernel.");
    else if (!taken.insert(std::string(name.text)).second)
        reporter.error(code::defined_twice, name.span,
                       fmt::format("There are two kernels '{}'.", name.text),
                       "Choose another name for one.");
}

// The checked kernels of the file, or its pipelines.
std::vector<ir::Kernel> check_all(const ast::File& file, bool pipelines, const KernelTable& table,
                                  Reporter& reporter, Budget& budget) {
    std::vector<ir::Kernel> out;
    for (const ast::Kernel& source : file.kernels) {
        if (reporter.full()) break;
        if (source.pipeline != pipelines) continue;
        if (auto kernel = check(source, table, reporter, budget)) out.push_back(std::move(*kernel));
    }
    return out;
}

std::optional<Program> compile_all(std::string_view text, Diagnostics& diagnostics) {
    Reporter reporter(diagnostics);
    const ast::File file = parse(lex(text, reporter), reporter);
    std::set<std::string> names;  // of all kernels, including those with errors
    KernelTable table;
    for (const ast::Kernel& source : file.kernels) {
        check_name(source.name, names, reporter);
        if (source.pipeline)
            table.pipelines.emplace(source.name.text);
        else
            table.kernels.emplace(source.name.text, nullptr);
    }
    Program program;
    Budget budget;
    program.kernels = check_all(file, false, table, reporter, budget);
    for (const ir::Kernel& kernel : program.kernels) table.kernels[kernel.name] = &kernel;
    program.pipelines = check_all(file, true, table, reporter, budget);
    for (const ast::Schedule& source : file.schedules) {
        if (reporter.full()) return std::nullopt;
        auto block = check_schedule(source, names, program, reporter);
        if (block) program.schedules.push_back(std::move(*block));
    }
    if (reporter.ok()) inherit_schedules(file, program, reporter);
    if (!reporter.ok()) return std::nullopt;
    for (const auto* kernels : {&program.kernels, &program.pipelines})
        for (const ir::Kernel& kernel : *kernels)
            if (const auto problem = ir::verify(kernel); !problem.empty())
                throw InternalError("the checker passed an ill-formed kernel: " + problem);
    return program;
}

}  // namespace

const ir::Kernel* Program::find(std::string_view name) const {
    for (const auto* list : {&kernels, &pipelines})
        for (const ir::Kernel& kernel : *list)
            if (kernel.name == name) return &kernel;
    return nullptr;
}

std::optional<Program> compile(std::string_view text, Diagnostics& diagnostics) {
    Diagnostics found;
    auto program = compile_all(text, found);
    const bool only_interface = cuda_source(text).has_value();
    if (program)
        for (ir::Kernel& kernel : program->kernels) kernel.only_interface = only_interface;
    // In the order of the text; that there are too many errors is said last.
    auto items = found.items();
    std::stable_sort(items.begin(), items.end(), [](const Diagnostic& a, const Diagnostic& b) {
        const bool a_last = a.code == code::too_many, b_last = b.code == code::too_many;
        return a_last != b_last ? b_last : a.span.begin < b.span.begin;
    });
    // If there are errors, warnings may only be consequences of them; if the kernel is written in
    // CUDA, they are about statements that are ignored.
    for (Diagnostic& item : items)
        if ((program && !only_interface) || item.severity == Severity::error)
            diagnostics.add(std::move(item));
    return program;
}

}  // namespace fact::dsl

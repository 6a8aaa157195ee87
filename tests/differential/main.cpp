// Random programs against the interpreter: differential COMMAND --count N [--seed S] [--sm80]
// [--only FAMILY]
//
//   lower    every program is cut into kernels and lowered; the counts are printed
//   build    and compiled
//   gpu      and run on the GPU; results are compared with the interpreter's, in f64, once dense
//            and once as parts of wider tensors
//   stages   every program, small, is cut into stages, and these are interpreted one by one
//   dump     every program, small, with inputs and the interpreter's results, a line of JSON each
//
// Programs that fail are named by their seed; --text SEED prints one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include "dsl/dsl.h"
#include "dump.h"
#include "generator.h"
#include "gpu/kernel.h"
#include "gpu/memory.h"
#include "ir/expand.h"
#include "jit/compiler.h"
#include "lower/pipeline/lower.h"
#include "stages.h"
#include "values.h"
#include "wide.h"

namespace fact::differential {
namespace {

struct Options {
    std::string command;
    int count = 100;
    std::uint32_t seed = 1;
    bool sm80 = false;
    std::string only;  // a family; "": all
    std::string json, store = "/tmp/fact-differential";
};

struct Case {
    std::uint32_t seed = 0;
    Program program;
    lower::Lowered lowered;
    std::string failure;  // "" while all is well
    double error = 0, allowed = 0;
    bool wide = false;  // it was also run with outputs that are parts of wider tensors
};

// For f32 some more than a rounding: what is computed on the way may be larger than the result.
double epsilon(DType dtype) {
    if (dtype == DType::bf16) return 0x1p-8;
    return dtype == DType::f16 ? 0x1p-11 : 0x1p-19;
}

// Half a rounding of the output, and what roundings inside may add to it.
double allowed_error(const Program& program, DType output) {
    double inside = 0;
    for (const ir::Expr& expr : ir::expand_attention(program.kernel).exprs)
        if (std::holds_alternative<ir::Cast>(expr.node))
            inside = std::max(inside, epsilon(expr.type.dtype));
    if (rounds_to_tf32(program)) inside = std::max(inside, epsilon(DType::f16));
    return 2 * (epsilon(output) + inside);
}

constexpr char kPoison = '\xff';  // NaN in every floating type

gpu::TensorArg argument(const tools::HostTensor& tensor, void* data) {
    gpu::TensorArg arg{data, tensor.dtype, tensor.sizes, tensor.sizes};
    std::int64_t stride = 1;
    for (std::size_t i = arg.sizes.size(); i-- > 0; stride *= arg.sizes[i]) arg.strides[i] = stride;
    return arg;
}

std::size_t bytes_of(const gpu::TensorArg& arg) {
    std::size_t bytes = static_cast<std::size_t>(info(arg.dtype).bytes);
    for (const std::int64_t size : arg.sizes) bytes *= static_cast<std::size_t>(size);
    return bytes;
}

// `wide`: outputs are parts of wider tensors; nothing is done if the kernel refuses that.
Result<> run_on_gpu(Case& one, const std::string& cubin,
                    const std::vector<tools::HostTensor>& inputs,
                    std::vector<tools::HostTensor>& outputs, bool wide) {
    auto kernel = gpu::Kernel::load(cubin, one.lowered.record);
    if (!kernel) return kernel.error();
    std::vector<gpu::DeviceMemory> memory;
    std::vector<gpu::TensorArg> tensors;
    const auto add = [&](gpu::TensorArg arg, const std::string* content,
                         bool in_wide = false) -> Result<> {
        const std::size_t bytes = in_wide ? wide_bytes(arg) : bytes_of(arg);
        auto allocated = gpu::DeviceMemory::allocate(bytes);
        if (!allocated) return allocated.error();
        const std::string poison(bytes, kPoison);
        const std::string& from = content ? *content : poison;
        if (auto done = allocated->write(std::as_bytes(std::span(from))); !done) return done;
        arg.data = static_cast<char*>(allocated->data()) + (in_wide ? bytes_before(arg) : 0);
        tensors.push_back(std::move(arg));
        memory.push_back(std::move(*allocated));
        return Ok{};
    };
    for (const auto& t : inputs)
        if (auto done = add(argument(t, nullptr), &t.data); !done) return done;
    for (const auto& t : outputs) {
        const auto dense = argument(t, nullptr);
        if (auto done = add(wide ? in_wider(dense) : dense, nullptr, wide); !done) return done;
    }
    if (auto why = kernel->why_refused(tensors); !why.empty())
        return wide ? Result<>(Ok{}) : Error{"refused: " + why, ""};
    one.wide = wide;
    for (const auto& arg : kernel->workspaces(tensors))
        if (auto done = add(arg, nullptr); !done) return done;
    if (auto done = kernel->launch(tensors, {}, nullptr); !done) return done;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto& arg = tensors[inputs.size() + i];
        std::string data(wide ? wide_bytes(arg) : bytes_of(arg), '\0');
        auto done = memory[inputs.size() + i].read(std::as_writable_bytes(std::span(data)));
        if (!done) return done;
        if (!wide)
            outputs[i].data = std::move(data);
        else if (!take_columns(arg, data, kPoison, outputs[i].data))
            return Error{"it wrote beside an output that is a part of a wider tensor", ""};
    }
    return Ok{};
}

void compare(Case& one, const std::string& cubin, bool wide) {
    const ir::Kernel& kernel = one.program.kernel;
    const Run run = interpreted(one.program, one.seed);
    std::vector<tools::HostTensor> outputs;
    for (const ir::Output& output : kernel.outputs)
        outputs.push_back(tools::empty_tensor(output.tensor.type.dtype,
                                              sizes_of(one.program, output.tensor.type)));
    if (auto done = run_on_gpu(one, cubin, run.inputs, outputs, wide); !done) {
        one.failure = done.error().text();
        return;
    }
    if (wide && !one.wide) return;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto got = widened(outputs[i]), want = widened(run.outputs[i]);
        double largest = 0.05, worst = 0;
        for (const double x : want)
            if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
        for (std::size_t j = 0; j < want.size(); ++j) {
            if (std::isnan(want[j]) && std::isnan(got[j])) continue;
            if (want[j] == got[j]) continue;
            const double off = std::abs(got[j] - want[j]) / largest;
            if (!(off <= worst)) worst = off;
        }
        const double allowed = allowed_error(one.program, kernel.outputs[i].tensor.type.dtype);
        if (!(worst / allowed <= one.error)) one.error = worst / allowed, one.allowed = allowed;
        if (!(worst <= allowed))
            one.failure = fmt::format("output {}{} is off by {:.2e}, allowed {:.2e}",
                                      kernel.outputs[i].tensor.name,
                                      wide ? ", in a wider tensor," : "", worst, allowed);
    }
}

std::vector<Case> lower_all(const Options& options) {
    std::vector<Case> cases;
    for (std::uint32_t seed = options.seed; cases.size() < static_cast<std::size_t>(options.count);
         ++seed) {
        Case one;
        one.seed = seed;
        one.program = random_program(seed);
        if (!options.only.empty() && one.program.family != options.only) continue;
        lower::LowerOptions lower_options;
        lower_options.extents = one.program.extents;
        lower_options.tma = !options.sm80;
        auto lowered = lower::lower(one.program.kernel, lower_options);
        if (lowered)
            one.lowered = std::move(*lowered);
        else
            one.failure = "lowering: " + lowered.error().text();
        cases.push_back(std::move(one));
    }
    return cases;
}

std::vector<Case> stage_all(const Options& options) {
    std::vector<Case> cases;
    for (std::uint32_t seed = options.seed; cases.size() < static_cast<std::size_t>(options.count);
         ++seed) {
        Case one;
        one.seed = seed;
        one.program = small_program(seed);
        if (!options.only.empty() && one.program.family != options.only) continue;
        one.failure = difference_of_stages(one.program, seed, options.sm80);
        cases.push_back(std::move(one));
    }
    return cases;
}

void build_all(std::vector<Case>& cases, const Options& options, bool run) {
    auto toolchain = jit::find_toolchain();
    if (!toolchain) throw std::runtime_error(toolchain.error().text());
    std::vector<jit::Unit> units;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (!cases[i].failure.empty()) continue;
        units.push_back({cases[i].program.kernel.name, cases[i].lowered.source, "sm90a"});
        which.push_back(i);
    }
    const int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const auto built = jit::compile_all(units, *toolchain, options.store, jobs, Seconds(120));
    for (std::size_t u = 0; u < units.size(); ++u) {
        Case& one = cases[which[u]];
        if (!built[u]) {
            one.failure = "build: " + built[u].error().text();
            continue;
        }
        if (!run) continue;
        std::ifstream file(built[u]->cubin, std::ios::binary);
        const std::string cubin{std::istreambuf_iterator<char>(file), {}};
        compare(one, cubin, /*wide=*/false);
        if (one.failure.empty()) compare(one, cubin, /*wide=*/true);
    }
}

int report(const std::vector<Case>& cases, const Options& options) {
    struct Row {
        int passed = 0, failed = 0, launches = 0, wide = 0;
        double worst = 0;
    };
    std::map<std::string, Row> rows;
    std::string failures, json;
    int failed = 0;
    for (const Case& one : cases) {
        Row& row = rows[one.program.family];
        ++(one.failure.empty() ? row.passed : row.failed);
        row.launches += static_cast<int>(one.lowered.record.launches.size());
        row.wide += one.wide;
        row.worst = std::max(row.worst, one.error);
        if (one.failure.empty()) continue;
        ++failed;
        if (failed <= 40)
            failures += fmt::format("seed {} ({}): {}\n", one.seed, one.program.family,
                                    one.failure.substr(0, 300));
    }
    for (const auto& [family, row] : rows) {
        fmt::print(
            "{:20} {:4} passed {:4} failed {:5} launches {:4} in wider tensors, error at most "
            "{:.2f} "
            "of allowed\n",
            family, row.passed, row.failed, row.launches, row.wide, row.worst);
        json += fmt::format(
            "{}  \"{}\": {{\"passed\": {}, \"failed\": {}, \"launches\": {}, \"wide\": {}, "
            "\"error_of_allowed\": {:.3f}}}",
            json.empty() ? "" : ",\n", family, row.passed, row.failed, row.launches, row.wide,
            row.worst);
    }
    std::cout << failures;
    fmt::print("{} {} programs from seed {}{}: {} passed, {} failed\n", options.command,
               cases.size(), options.seed, options.sm80 ? " through sm80" : "",
               static_cast<int>(cases.size()) - failed, failed);
    if (!options.json.empty())
        std::ofstream(options.json) << fmt::format(
            "{{\"command\": \"{}\", \"programs\": {}, \"first_seed\": {}, \"skeleton\": \"{}\", "
            "\"failed\": {}, \"families\": {{\n{}}}}}\n",
            options.command, cases.size(), options.seed, options.sm80 ? "sm80" : "sm90", failed,
            json);
    return failed > 0;
}

int run(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto next = [&] { return i + 1 < argc ? argv[++i] : ""; };
        if (word == "--count")
            options.count = std::atoi(next());
        else if (word == "--seed")
            options.seed = static_cast<std::uint32_t>(std::atol(next()));
        else if (word == "--sm80")
            options.sm80 = true;
        else if (word == "--only")
            options.only = next();
        else if (word == "--json")
            options.json = next();
        else if (word == "--store")
            options.store = next();
        else if (word == "--text" || word == "--source") {
            const Program program = random_program(static_cast<std::uint32_t>(std::atol(next())));
            std::cout << dsl::to_text(program.kernel);
            lower::LowerOptions lower_options;
            lower_options.extents = program.extents;
            lower_options.tma = !options.sm80;
            auto lowered = lower::lower(program.kernel, lower_options);
            if (word == "--source")
                std::cout << (lowered ? lowered->source : lowered.error().text()) << "\n";
            return 0;
        } else
            options.command = word;
    }
    constexpr std::string_view kCommands[] = {"lower", "build", "gpu", "stages", "dump"};
    if (std::ranges::find(kCommands, options.command) == std::end(kCommands)) {
        std::cerr
            << "usage: differential lower|build|gpu|stages|dump [--count N] [--seed S] [--sm80] "
               "[--only FAMILY] [--json FILE] [--text SEED]\n";
        return 2;
    }
    if (options.command == "dump") {
        for (int i = 0; i < options.count; ++i) {
            const auto seed = options.seed + static_cast<std::uint32_t>(i);
            std::cout << dump_run(small_program(seed), seed) << "\n";
        }
        return 0;
    }
    if (options.command == "stages") return report(stage_all(options), options);
    auto cases = lower_all(options);
    if (options.command != "lower") build_all(cases, options, options.command == "gpu");
    return report(cases, options);
}

}  // namespace
}  // namespace fact::differential

int main(int argc, char** argv) {
    try {
        return fact::differential::run(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "differential: " << error.what() << "\n";
        return 1;
    }
}

// Random programs against the interpreter: differential COMMAND --count N [--seed S] [--sm80]
// [--only FAMILY]
//
//   lower    every program is cut into kernels and lowered; the counts are printed, and how many
//            take their tensors as parts of wider ones
//   build    and compiled
//   gpu      and run on the GPU; results are compared with the interpreter's, in f64, once dense,
//            and with outputs and inputs that are parts of wider tensors
//   stages   every program, small, is cut into stages, and these are interpreted one by one
//   dump     every program, small, with inputs and the interpreter's results, a line of JSON each
//
// Programs that fail are named by their seed; --text SEED prints one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
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
    // Whether its launcher takes outputs and inputs that are parts of wider tensors, for each pad.
    std::array<int, std::size(kPads)> writes{}, reads{};
};

// How a run's tensors lie in memory: dense, or the outputs or the inputs in wider tensors.
struct Placing {
    const Pad* pad = nullptr;
    bool outputs = false;
    bool has(bool output) const { return pad && output == outputs; }
    std::string text() const {
        if (!pad) return "";
        return fmt::format(", with {} in wider tensors ({} more),", outputs ? "outputs" : "inputs",
                           pad->name);
    }
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

constexpr Pad kNoPad{"nothing"};

gpu::TensorArg dense(DType dtype, const std::vector<std::int64_t>& sizes) {
    return in_wider({nullptr, dtype, sizes, sizes}, kNoPad);
}

void ask_launcher(Case& one) {
    const ir::Kernel& kernel = one.program.kernel;
    std::vector<gpu::TensorArg> tensors;
    const auto add = [&](const ir::Type& type) {
        tensors.push_back(dense(type.dtype, sizes_of(one.program, type)));
    };
    for (const auto& param : kernel.params) add(param.type);
    for (const auto& output : kernel.outputs) add(output.tensor.type);
    for (std::size_t i = 0; i < std::size(kPads); ++i) {
        one.writes[i] = accepts(one.lowered.record, tensors, kPads[i], true);
        one.reads[i] = accepts(one.lowered.record, tensors, kPads[i], false);
    }
}

// False if the launcher refuses tensors that are parts of wider ones.
Result<bool> run_on_gpu(const gpu::Kernel& kernel, const std::vector<tools::HostTensor>& inputs,
                        std::vector<tools::HostTensor>& outputs, const Placing& placing) {
    std::vector<gpu::DeviceMemory> memory;
    std::vector<gpu::TensorArg> tensors;
    const auto add = [&](gpu::TensorArg arg, const std::string* content,
                         const Pad& pad) -> Result<> {
        const std::string poison(wide_bytes(arg, pad), kPoison);
        const std::string from = content ? spread(arg, pad, *content, kPoison) : poison;
        auto allocated = gpu::DeviceMemory::allocate(from.size());
        if (!allocated) return allocated.error();
        if (auto done = allocated->write(std::as_bytes(std::span(from))); !done) return done;
        arg.data = static_cast<char*>(allocated->data()) + bytes_before(arg, pad);
        tensors.push_back(std::move(arg));
        memory.push_back(std::move(*allocated));
        return Ok{};
    };
    const Pad& in = placing.has(false) ? *placing.pad : kNoPad;
    const Pad& out = placing.has(true) ? *placing.pad : kNoPad;
    for (const auto& t : inputs)
        if (auto done = add(in_wider(dense(t.dtype, t.sizes), in), &t.data, in); !done)
            return done.error();
    for (const auto& t : outputs)
        if (auto done = add(in_wider(dense(t.dtype, t.sizes), out), nullptr, out); !done)
            return done.error();
    if (auto why = kernel.why_refused(tensors); !why.empty())
        return placing.pad ? Result<bool>(false) : Error{"refused: " + why, ""};
    for (const auto& arg : kernel.workspaces(tensors))
        if (auto done = add(arg, nullptr, kNoPad); !done) return done.error();
    if (auto done = kernel.launch(tensors, {}, nullptr); !done) return done.error();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto& arg = tensors[inputs.size() + i];
        std::string data(wide_bytes(arg, out), '\0');
        auto done = memory[inputs.size() + i].read(std::as_writable_bytes(std::span(data)));
        if (!done) return done.error();
        if (!take_own(arg, out, data, kPoison, outputs[i].data))
            return Error{"it wrote beside an output" + placing.text(), ""};
    }
    return true;
}

void compare(Case& one, const gpu::Kernel& compiled, const Run& run, const Placing& placing) {
    const ir::Kernel& kernel = one.program.kernel;
    std::vector<tools::HostTensor> outputs;
    for (const ir::Output& output : kernel.outputs)
        outputs.push_back(tools::empty_tensor(output.tensor.type.dtype,
                                              sizes_of(one.program, output.tensor.type)));
    const auto ran = run_on_gpu(compiled, run.inputs, outputs, placing);
    if (!ran) one.failure = ran.error().text();
    if (!ran || !*ran) return;
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
            one.failure =
                fmt::format("output {}{} is off by {:.2e}, allowed {:.2e}",
                            kernel.outputs[i].tensor.name, placing.text(), worst, allowed);
    }
}

void run_case(Case& one, const std::string& cubin) {
    const auto kernel = gpu::Kernel::load(cubin, one.lowered.record);
    if (!kernel) {
        one.failure = kernel.error().text();
        return;
    }
    const Run run = interpreted(one.program, one.seed);
    compare(one, *kernel, run, {});
    for (const Pad& pad : kPads)
        for (const bool outputs : {true, false})
            if (one.failure.empty()) compare(one, *kernel, run, {&pad, outputs});
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
        if (lowered) {
            one.lowered = std::move(*lowered);
            ask_launcher(one);
        } else {
            one.failure = "lowering: " + lowered.error().text();
        }
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
        run_case(one, cubin);
    }
}

constexpr int kEnough = 8;  // programs of a family, to say what all of them refuse

int report(const std::vector<Case>& cases, const Options& options) {
    struct Row {
        int passed = 0, failed = 0, launches = 0;
        std::array<int, std::size(kPads)> writes{}, reads{};  // programs, for each pad
        double worst = 0;
    };
    std::map<std::string, Row> rows;
    std::string failures, json;
    int failed = 0;
    for (const Case& one : cases) {
        Row& row = rows[one.program.family];
        ++(one.failure.empty() ? row.passed : row.failed);
        row.launches += static_cast<int>(one.lowered.record.launches.size());
        for (std::size_t i = 0; i < std::size(kPads); ++i) {
            row.writes[i] += one.writes[i];
            row.reads[i] += one.reads[i];
        }
        row.worst = std::max(row.worst, one.error);
        if (one.failure.empty()) continue;
        ++failed;
        if (failed <= 40)
            failures += fmt::format("seed {} ({}): {}\n", one.seed, one.program.family,
                                    one.failure.substr(0, 300));
    }
    for (const auto& [family, row] : rows) {
        fmt::print(
            "{:20} {:4} passed {:4} failed {:5} launches, error at most {:.2f} of allowed; parts "
            "of "
            "wider tensors: {} write, {} read\n",
            family, row.passed, row.failed, row.launches, row.worst, fmt::join(row.writes, "/"),
            fmt::join(row.reads, "/"));
        json += fmt::format(
            "{}  \"{}\": {{\"passed\": {}, \"failed\": {}, \"launches\": {}, \"wide_outputs\": "
            "[{}], \"wide_inputs\": [{}], \"error_of_allowed\": {:.3f}}}",
            json.empty() ? "" : ",\n", family, row.passed, row.failed, row.launches,
            fmt::join(row.writes, ", "), fmt::join(row.reads, ", "), row.worst);
        // Few programs may all be such that no kernel can take them so.
        const bool asked = options.command != "stages" && row.passed + row.failed >= kEnough;
        for (const auto& [accepted, what] : {std::pair{row.writes, "write"}, {row.reads, "read"}})
            if (asked && std::ranges::count(accepted, 0) == std::ssize(accepted)) {
                ++failed;
                failures +=
                    fmt::format("{}: no program can {} a part of a wider tensor\n", family, what);
            }
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

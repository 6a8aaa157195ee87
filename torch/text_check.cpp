#include "torch/text_check.h"

#include <fmt/format.h>

#include "torch/drawing.h"
#include "torch/tensors.h"
#include "verify/shrink.h"

namespace fact::exec {

namespace {

using verify::Check;

// A call that cannot be shrunk is still interpreted with up to this many multiplications.
constexpr double kMaxProducts = 1e9;

Result<Check> check_interpreted(const Oracle& oracle, const Case& drawn, FusedKernel& kernel) {
    const auto& inputs = oracle.numbers(drawn).inputs;
    auto outputs = kernel.allocate_outputs(inputs);
    if (!outputs) return outputs.error();
    poison(*outputs);
    if (const auto done = kernel.run_kernel(inputs, *outputs); !done) return done.error();
    return oracle.check(drawn, *outputs);
}

Result<SmallCall> prepare(const graph::FusedCall& call, const ir::Kernel& text,
                          const std::map<std::string, graph::Weight>& buffers, bool authored) {
    auto oracle = Oracle::make(call, c10::kCPU, buffers);
    if (!oracle) return oracle.error();
    try {
        auto cases = draw_cases(*oracle, text, authored);
        return SmallCall{call, std::move(*oracle), std::move(cases), {}};
    } catch (const std::exception& error) {
        return Error{message_of(error), {}};
    }
}

}  // namespace

std::vector<Case> draw_cases(const Oracle& oracle, const ir::Kernel& text, bool authored) {
    std::vector<Case> cases;
    int seed = 1;
    for (const auto distribution : kDistributions)
        cases.push_back(oracle.draw(distribution, seed++));
    if (oracle.normalises_inputs()) cases.push_back(oracle.draw(kShifted, seed));
    if (authored)
        if (auto far = oracle.draw_far(text, ++seed)) cases.push_back(std::move(*far));
    if (authored && oracle.reads_buffers()) cases.push_back(oracle.draw(kOtherBuffers, ++seed));
    return cases;
}

Result<CheckedText> check_text(const graph::FusedCall& call, const ir::Kernel& text,
                               const std::map<std::string, graph::Weight>& buffers, bool authored) {
    auto small = prepare(call, text, buffers, authored);
    if (!small) return small.error();
    auto kernel = FusedKernel::make(call, text, {});
    if (!kernel) return kernel.error();
    std::vector<Check> checks;
    for (const auto& drawn : small->cases) {
        auto check = check_interpreted(small->oracle, drawn, **kernel);
        if (!check) return check.error();
        checks.push_back(std::move(*check));
    }
    return CheckedText{std::move(*small), std::move(checks)};
}

Result<CheckedText> check_text_shrunk(const graph::FusedCall& call, const ir::Kernel& text,
                                      const std::map<std::string, graph::Weight>& buffers,
                                      bool authored) {
    std::string objection;
    if (auto shrunk = verify::shrink(call, text, kInterpretedProducts)) {
        auto checked = check_text(shrunk->call, text, buffers, authored);
        if (checked) {
            checked->small.note = "extents shrunk: " + shrunk->note;
            return checked;
        }
        objection = checked.error().message;
    }
    if (const double work = verify::work(call.original); work > kMaxProducts)
        return Error{
            fmt::format("{} is too large to interpret ({:.1e} multiplications){}", call.id, work,
                        objection.empty() ? "" : " and cannot be shrunk: " + objection),
            {}};
    return check_text(call, text, buffers, authored);
}

}  // namespace fact::exec

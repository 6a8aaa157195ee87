#include "torch/oracle.h"

#include <ATen/Context.h>
#include <ATen/ops/randint.h>

#include <algorithm>
#include <limits>

#include "graph/operators.h"
#include "graph/products.h"
#include "torch/drawing.h"
#include "torch/exact_convolution.h"
#include "torch/tensors.h"
#include "verify/case_bytes.h"
#include "verify/f64.h"
#include "verify/thresholds.h"

namespace fact::exec {

namespace {

// How often inputs are changed by a rounding error: a single change may by chance leave a sum as
// it is.
constexpr std::size_t kMoves = 4;

Tensors widened(const Tensors& tensors) {
    Tensors wide;
    for (const auto& tensor : tensors)
        wide.push_back(tensor.is_floating_point() ? tensor.to(at::kDouble) : tensor);
    return wide;
}

// Makes every number larger or smaller, at random, by the same relative amount.
Tensors moved_by(double share, Tensors wide) {
    for (auto& tensor : wide) {
        if (!tensor.is_floating_point()) continue;
        const auto up = at::randint(2, tensor.sizes(), tensor.options());
        tensor = tensor.mul(up.mul_(2 * share).add_(1 - share));
    }
    return wide;
}

// Rounds results as eager does where it computes in several steps, to f32 for example: what is
// computed from them cannot be more accurate. Only of operators that add up many numbers, whose
// kernels may also do so in another order; others are exact, or fused with the next.
Replacement rounding_of(const graph::Graph& original, const graph::Node& node) {
    switch (graph::facts_of(node).kind) {
        using enum graph::OperatorKind;
        case product:
        case attention:
        case softmax:
        case norm:
            break;
        case nothing:
        case view:
        case pointwise:
        case reduction:
        case loss:
        case gather:
        case scatter:
        case fill:
        case unknown:
            return {};
    }
    const auto same = std::ranges::find(original.nodes, node.name, &graph::Node::name);
    if (same == original.nodes.end() || same->outputs.empty()) return {};
    const auto& type = original[same->outputs.front()].type;
    if (!type || !info(type->dtype).floating) return {};
    const double share = verify::grain_of(type->dtype, false).rounding;
    return [share](const at::Tensor& exact) { return moved_by(share, {exact}).front(); };
}

// The call's copied nodes as a graph of their own, and the others, which read their results.
std::pair<graph::Graph, graph::Graph> split_off_copied(const graph::FusedCall& call) {
    const graph::Graph& whole = call.original;
    std::vector<graph::NodeId> shared, rest;
    for (std::size_t i = 0; i < whole.nodes.size(); ++i) {
        const bool copied =
            std::ranges::find(call.copied, whole.nodes[i].name) != call.copied.end();
        (copied ? shared : rest).push_back(static_cast<graph::NodeId>(i));
    }
    std::vector<graph::ValueId> inputs, shared_results, outputs;
    for (const auto& input : whole.inputs) inputs.push_back(input.value);
    for (const auto& output : whole.outputs) outputs.push_back(*output.value);
    for (const auto id : rest)
        for (const auto value : graph::tensor_inputs(whole[id])) {
            const auto producer = whole[value].producer;
            const bool is_shared = producer && std::ranges::find(shared, *producer) != shared.end();
            if (is_shared && std::ranges::find(shared_results, value) == shared_results.end())
                shared_results.push_back(value);
        }
    auto first = graph::extract(whole, shared, inputs, shared_results);
    inputs.insert(inputs.end(), shared_results.begin(), shared_results.end());
    return {std::move(first), graph::extract(whole, rest, inputs, outputs)};
}

// The names of inputs whose rows are normalised as they are, or after pointwise operators.
std::set<std::string> normalised_inputs(const graph::Graph& graph) {
    std::map<graph::ValueId, std::set<std::string>> from;  // the inputs a value is computed from
    for (const auto& input : graph.inputs)
        if (const auto& value = graph[input.value]; value.type && info(value.type->dtype).floating)
            from[input.value] = {value.name};
    std::set<std::string> found;
    for (const auto& node : graph.nodes) {
        if (graph::find_product(node)) continue;
        // A norm that is spelled out in operators contains a mean.
        const bool norm = node.target == "aten.layer_norm.default" ||
                          node.target == "aten.rms_norm.default" || node.target == "aten.mean.dim";
        std::set<std::string> made_of;
        for (const auto value : graph::tensor_inputs(node))
            if (const auto at = from.find(value); at != from.end())
                made_of.insert(at->second.begin(), at->second.end());
        if (norm) found.merge(std::set(from[graph::tensor_inputs(node).front()]));
        for (const auto value : node.outputs) from[value] = made_of;
    }
    return found;
}

verify::ErrorPair worst(const verify::ErrorPair& a, const verify::ErrorPair& b) {
    return {std::max(a.largest, b.largest), std::max(a.rms, b.rms)};
}

// `kFar` draws values kBeyond times as large as the largest threshold they are compared with, but
// not from kFarthest on, where f16 sums would overflow; at least kExpOverflows times as large as
// ordinary ones, of which some are then beyond 88, where exp overflows.
constexpr double kBeyond = 2, kExpOverflows = 40, kFarthest = 2000;

bool overflows(const Numbers& made) {
    for (std::size_t i = 0; i < made.eager.size(); ++i)
        if (!made.eager[i].isfinite().equal(made.exact[i].isfinite())) return true;
    return false;
}

}  // namespace

std::string name(const Case& drawn) {
    return drawn.distribution + (drawn.row_seed ? ", one row changed" : "");
}

Result<Oracle> Oracle::make(const graph::FusedCall& call, c10::Device device,
                            std::map<std::string, graph::Weight> buffers, bool tf32,
                            std::int64_t large) {
    Oracle oracle;
    oracle.tf32_ = tf32;
    oracle.call_ = call;
    oracle.device_ = device;
    oracle.large_ = verify::case_bytes(call.original).all() > large;
    oracle.buffers_ = std::move(buffers);
    oracle.normalised_ = normalised_inputs(call.original);
    auto eager = GraphExecutor::build(call.original, {device, {}});
    if (!eager) return eager.error();
    auto rewritten = verify::f64_rewriting(call.original);
    if (!rewritten) return rewritten.error();
    auto exact = GraphExecutor::build(*rewritten, {device, {}});
    if (!exact) return exact.error();
    auto rounding = GraphExecutor::build(
        *rewritten, {.device = device, .replacing = [&](const graph::Node& node) {
                         return rounding_of(call.original, node);
                     }});
    if (!rounding) return rounding.error();
    if (!call.copied.empty()) {
        const auto [first, second] = split_off_copied(call);
        auto shared = GraphExecutor::build(first, {device, {}});
        if (!shared) return shared.error();
        auto rest = GraphExecutor::build(second, {device, {}});
        if (!rest) return rest.error();
        oracle.shared_ = std::move(*shared);
        oracle.rest_ = std::move(*rest);
    }
    oracle.eager_ = std::move(*eager);
    oracle.exact_ = std::move(*exact);
    oracle.rounding_ = std::move(*rounding);
    return oracle;
}

at::Tensor Oracle::draw_input(const graph::GraphInput& input, std::string_view distribution,
                              double far) const {
    const auto& value = call_.original[input.value];
    TORCH_CHECK(value.type, "input ", value.name, " of ", call_.id, " is not a tensor");
    const auto& type = *value.type;
    const auto binding = std::ranges::find(call_.params, value.name, &graph::Binding::value);
    // The values of an input that is not read are built into the kernel, and checked at every call.
    const bool is_read = binding != call_.params.end();
    if (const auto found = buffers_.find(value.name); found != buffers_.end()) {
        auto real = load_weight(found->second).to(device_);
        // A call with smaller extents gets the first elements along each dimension.
        bool fits = real.dim() == static_cast<std::int64_t>(type.sizes.size());
        for (std::size_t d = 0; fits && d < type.sizes.size(); ++d) {
            fits = real.size(d) >= type.sizes[d];
            if (fits) real = real.narrow(d, 0, type.sizes[d]);
        }
        const bool may_change = is_read && found->second.persistent;
        if (fits) return distribution == kOtherBuffers && may_change ? other_values(real) : real;
    }
    InputFacts facts;
    facts.constant = is_read && binding->constant;
    facts.far = far;
    facts.normalised = normalised_.contains(value.name);
    facts.narrow = std::ranges::any_of(call_.original.values, [](const graph::Value& other) {
        return other.type && other.type->dtype == DType::f16;
    });
    if (!info(type.dtype).floating)
        facts.integers = verify::integer_use(call_.original, input.value);
    return draw_tensor(type, facts, distribution, device_);
}

bool Oracle::reads_buffers() const {
    return std::ranges::any_of(call_.params, [&](const graph::Binding& binding) {
        const auto found = buffers_.find(binding.value);
        if (found == buffers_.end() || !found->second.persistent) return false;
        const auto dtype = found->second.type.dtype;
        return dtype == DType::boolean || info(dtype).floating;
    });
}

std::optional<Case> Oracle::draw_far(const ir::Kernel& text, int seed) const {
    double far = kExpOverflows;
    for (const double threshold :
         {verify::largest_threshold(call_.original), verify::largest_threshold(text)})
        if (kBeyond * threshold < kFarthest) far = std::max(far, kBeyond * threshold);
    Case drawn{std::string(kFar), seed, far};
    if (overflows(numbers(drawn))) return {};
    return drawn;
}

Case Oracle::draw(std::string_view distribution, int seed) const {
    Case drawn{std::string(distribution), seed};
    if (!large_) numbers(drawn);
    return drawn;
}

const Numbers& Oracle::numbers(const Case& drawn) const {
    auto& made = *drawn.made;
    if (made) return *made;
    if (const auto last = at_hand_.lock(); last && large_) last->reset();
    at_hand_ = drawn.made;
    Numbers fresh;
    fresh.inputs = inputs(drawn);
    compute_results(fresh);
    made.emplace(std::move(fresh));
    if (after_making_) after_making_();
    return *made;
}

Tensors Oracle::inputs(const Case& drawn) const {
    if (*drawn.made) return (*drawn.made)->inputs;
    at::manual_seed(static_cast<std::uint64_t>(drawn.seed));
    Tensors inputs;
    for (const auto& input : call_.original.inputs)
        inputs.push_back(draw_input(input, drawn.distribution, drawn.far));
    if (drawn.row_seed) change_one_row(inputs, *drawn.row_seed);
    return inputs;
}

std::function<Tensors()> Oracle::baseline(const Tensors& inputs) const {
    if (!rest_) return [this, inputs] { return eager_->run(inputs); };
    Tensors all = inputs;
    for (auto& made : shared_->run(inputs)) all.push_back(std::move(made));
    return [this, all] { return rest_->run(all); };
}

Tensors Oracle::run_wide(const GraphExecutor& graph, const Tensors& wide) const {
    const ConvolutionsByTaps quick;
    return graph.run(wide);
}

DType Oracle::type_of_output(std::size_t i) const {
    return call_.original[*call_.original.outputs[i].value].type->dtype;
}

void Oracle::compute_results(Numbers& made) const {
    made.eager = eager_->run(made.inputs);
    made.exact = run_wide(*exact_, widened(made.inputs));
    for (std::size_t i = 0; i < made.eager.size(); ++i) {
        const auto &exact = made.exact[i], &eager = made.eager[i];
        made.eager_difference.push_back(difference(exact, eager, eager));
        const auto dtype = type_of_output(i);
        made.allowed.slices.push_back(
            info(dtype).floating ? Slices(exact, eager, verify::grain_of(dtype, tf32_)) : Slices());
    }
}

void Oracle::allow_moved(const Case& drawn, const Numbers& made) const {
    at::manual_seed(static_cast<std::uint64_t>(drawn.seed));
    const auto answer = [&](DType dtype) {
        const double share = verify::grain_of(dtype, tf32_).rounding;
        return run_wide(*rounding_, moved_by(share, widened(made.inputs)));
    };
    // For each element type of an output: the results for several changes of the inputs
    // and of what is rounded on the way. Large ones are made anew for every output.
    std::map<DType, std::vector<Tensors>> kept;
    for (std::size_t i = 0; i < made.eager.size(); ++i) {
        const auto dtype = type_of_output(i);
        if (!info(dtype).floating) continue;
        auto& answers = kept[dtype];
        while (!large_ && answers.size() < kMoves) answers.push_back(answer(dtype));
        const auto moved = [&](std::size_t m) { return large_ ? answer(dtype)[i] : answers[m][i]; };
        made.allowed.slices[i] =
            Slices(made.exact[i], made.eager[i], verify::grain_of(dtype, tf32_), kMoves, moved);
    }
    made.allowed.moved = true;
}

Case Oracle::with_one_row_changed(const Case& drawn, int seed) const {
    Case changed{drawn.distribution, drawn.seed, drawn.far, seed};
    if (!large_) numbers(changed);
    return changed;
}

void Oracle::change_one_row(const Tensors& inputs, int seed) const {
    at::manual_seed(static_cast<std::uint64_t>(seed));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& input = inputs[i];
        const bool is_buffer =
            buffers_.contains(call_.original[call_.original.inputs[i].value].name);
        // Rows that share memory cannot change one by one.
        bool separate = true;
        for (std::int64_t d = 0; d < input.dim(); ++d)
            separate = separate && (input.size(d) == 1 || input.stride(d) > 0);
        if (is_buffer || !separate || !input.is_floating_point() || input.numel() == 0) continue;
        auto row = input;
        while (row.dim() > 1)
            row = row.select(0, at::randint(row.size(0), {}, at::kLong).item<std::int64_t>());
        row.mul_(-0.5);
    }
}

bool Oracle::judge(const Case& drawn, const Tensors& results, verify::Check& check) const {
    check = {};
    check.distribution = name(drawn);
    check.seed = drawn.row_seed.value_or(drawn.seed);
    check.passed = true;
    const Numbers& made = numbers(drawn);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const auto actual = difference(made.exact[i], results[i], made.eager[i]);
        check.eager = worst(check.eager, verify::relative(made.eager_difference[i]));
        check.kernel = worst(check.kernel, verify::relative(actual));
        const auto& output = call_.original[*call_.original.outputs[i].value];
        auto why = verify::judge(made.eager_difference[i], actual, output.type->dtype);
        const auto slice = made.allowed.slices[i].worst(made.exact[i], made.eager[i], results[i]);
        check.slice = std::max(check.slice, slice.share);
        if (why.empty() && !(slice.share <= 1)) why = slice.what;
        if (why.empty()) continue;
        check.passed = false;
        if (check.why.empty()) check.why = output.name + ": " + why;
    }
    return check.passed;
}

verify::Check Oracle::check(const Case& drawn, const Tensors& results) const {
    verify::Check check;
    const Numbers& made = numbers(drawn);
    if (judge(drawn, results, check) || made.allowed.moved) return check;
    allow_moved(drawn, made);
    judge(drawn, results, check);
    return check;
}

std::map<std::string, graph::Weight> buffers_of(const graph::FusedCall& call,
                                                const graph::Archive& archive) {
    std::map<std::string, graph::Weight> buffers;
    for (const auto& input : archive.graph.inputs) {
        if (input.kind != graph::InputKind::buffer && input.kind != graph::InputKind::constant)
            continue;
        const auto& name = archive.graph[input.value].name;
        // Buffers that the kernel does not read count too, such as a mask that is built into it.
        if (std::ranges::none_of(call.original.inputs, [&](const auto& own) {
                return call.original[own.value].name == name;
            }))
            continue;
        const auto weight = std::ranges::find(archive.weights, input.fqn, &graph::Weight::fqn);
        if (weight != archive.weights.end()) buffers.emplace(name, *weight);
    }
    return buffers;
}

void poison(const Tensors& results) {
    for (const auto& tensor : results) {
        if (tensor.is_floating_point())
            tensor.fill_(std::numeric_limits<double>::quiet_NaN());
        else
            tensor.fill_(1);
    }
}

}  // namespace fact::exec

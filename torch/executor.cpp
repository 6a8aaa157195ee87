#include "torch/executor.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/cats.h"
#include "graph/constants.h"
#include "graph/fused.h"
#include "torch/arguments.h"
#include "torch/cats.h"
#include "torch/kept_constants.h"
#include "torch/tensors.h"

namespace fact::exec {

namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

std::string describe(const Node& node) {
    const auto where = graph::describe(node.where);
    return where.empty() ? fmt::format("node {}", node.name)
                         : fmt::format("node {} ({})", node.name, where);
}

struct FusedStep {
    FusedFunction function;
    std::vector<ValueId> inputs;
    std::vector<std::optional<graph::Spot>> into;  // for each result; empty if all may be anywhere
};

struct Step {
    std::variant<PreparedCall, FusedStep, CatStep> call;
    std::vector<ValueId> outputs;
    bool returns_list = false;
    std::vector<ValueId> dead;  // not read after this step
    std::string where;          // for errors
    Replacement replacement;    // of its results; may be empty
};

std::vector<c10::IValue> filled_stack(const PreparedCall& call, const Environment& values) {
    auto stack = call.stack;
    for (const auto& slot : call.slots) {
        switch (slot.kind) {
            case Slot::Kind::value:
                stack[slot.position] = values[index(*slot.values[0])];
                break;
            case Slot::Kind::tensors: {
                c10::List<at::Tensor> list;
                for (const auto& value : slot.values)
                    list.push_back(values[index(*value)].toTensor());
                stack[slot.position] = std::move(list);
                break;
            }
            case Slot::Kind::optional_tensors: {
                c10::List<std::optional<at::Tensor>> list;
                for (const auto& value : slot.values)
                    list.push_back(value ? std::optional(values[index(*value)].toTensor())
                                         : std::nullopt);
                stack[slot.position] = std::move(list);
                break;
            }
        }
    }
    return stack;
}

Tensors call(const FusedStep& step, Environment& values) {
    Tensors inputs, into;
    for (const auto id : step.inputs) inputs.push_back(values[index(id)].toTensor());
    for (const auto& spot : step.into)
        into.push_back(spot ? at_spot(*spot, values, inputs.at(0).device()) : at::Tensor());
    return step.function(inputs, into);
}

void run_step(const Step& step, Environment& values) {
    std::vector<c10::IValue> results;
    std::visit(overloaded{
                   [&](const FusedStep& fused) {
                       for (auto& tensor : call(fused, values))
                           results.emplace_back(std::move(tensor));
                   },
                   [&](const CatStep& cat) { results.emplace_back(put_together(cat, values)); },
                   [&](const PreparedCall& prepared) {
                       results = filled_stack(prepared, values);
                       prepared.op.callBoxed(results);
                       if (!step.returns_list) return;
                       const auto list = results.at(0).toTensorVector();
                       results.assign(list.begin(), list.end());
                   },
               },
               step.call);
    TORCH_CHECK(results.size() >= step.outputs.size(),
                fmt::format("{} gave {} results instead of {}", step.where, results.size(),
                            step.outputs.size()));
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
        if (step.replacement && results[i].isTensor() && results[i].toTensor().is_floating_point())
            results[i] = step.replacement(results[i].toTensor());
        values[index(step.outputs[i])] = std::move(results[i]);
    }
    for (const auto id : step.dead) values[index(id)] = {};
}

// Results of kernels may have another layout than was traced, for example as parts of one tensor:
// what was a view when it was traced may then have to be a copy.
Node with_views_that_copy(Node node) {
    if (node.target != "aten.view.default" && node.target != "aten._unsafe_view.default")
        return node;
    node.target = "aten.reshape.default";
    for (auto& argument : node.inputs)
        if (argument.name == "size") argument.name = "shape";
    return node;
}

Result<FusedStep> make_fused_step(const Node& node, const graph::Spots& spots,
                                  const ExecutorOptions& options) {
    const auto* inputs = graph::find_argument(node, "inputs");
    const auto* id = graph::find_argument(node, "call");
    if (!inputs || !id || !std::holds_alternative<std::vector<ValueId>>(*inputs) ||
        !std::holds_alternative<std::string>(*id))
        return Error{"the fused call has no inputs or no id", "compose the package again"};
    const auto& name = std::get<std::string>(*id);
    FusedStep step{options.fused ? options.fused(name) : FusedFunction{},
                   std::get<std::vector<ValueId>>(*inputs),
                   {}};
    if (!step.function)
        return Error{fmt::format("there is no kernel for the fused call {}", name), {}};
    if (std::ranges::none_of(node.outputs, [&](ValueId id) { return spots.contains(id); }))
        return step;
    for (const auto value : node.outputs) {
        const auto at = spots.find(value);
        step.into.push_back(at == spots.end() ? std::nullopt : std::optional(at->second));
    }
    return step;
}

Result<Step> make_step(const Graph& graph, const Node& node, const graph::Spots& spots,
                       const ExecutorOptions& options) {
    const auto step = [&](auto call) {
        return Step{std::move(call),   node.outputs,
                    node.returns_list, {},
                    describe(node),    options.replacing ? options.replacing(node) : Replacement{}};
    };
    if (node.target == graph::kFusedTarget) {
        auto fused = make_fused_step(node, spots, options);
        if (!fused) return fused.error();
        return step(std::move(*fused));
    }
    if (node.target == graph::kCatTarget || node.target == graph::kStackTarget)
        return step(make_cat_step(graph, node, spots));
    auto call = prepare_call(with_views_that_copy(node), options.device);
    if (!call) return call.error();
    return step(std::move(*call));
}

// Each step lists the values that it is the last to use, so that memory is freed as early as in
// eager.
void mark_dead_values(const Graph& graph, const std::vector<graph::NodeId>& order,
                      std::vector<Step>& steps) {
    std::set<ValueId> needed;
    for (const auto& output : graph.outputs)
        if (output.value) needed.insert(*output.value);
    for (std::size_t i = steps.size(); i-- > 0;) {
        auto touched = graph::tensor_inputs(graph[order[i]]);
        touched.insert(touched.end(), steps[i].outputs.begin(), steps[i].outputs.end());
        for (const auto id : touched)
            if (needed.insert(id).second) steps[i].dead.push_back(id);
    }
}

// The other nodes whose results constant ones need: views of weights.
std::vector<bool> needed_before(const Graph& graph, const std::vector<bool>& constant) {
    std::vector<bool> needed(graph.nodes.size());
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
        if (!constant[i] && !needed[i]) continue;
        for (const auto id : graph::tensor_inputs(graph.nodes[i]))
            if (const auto producer = graph[id].producer; producer && !constant[index(*producer)])
                needed[index(*producer)] = true;
    }
    return needed;
}

}  // namespace

struct GraphExecutor::Plan {
    c10::Device device;
    std::vector<ValueId> inputs;
    // Views of weights that `once` reads, and others too.
    std::vector<Step> first;
    // What follows if what it makes is not kept: what it reads, and those of its values that others
    // read.
    std::vector<Step> once;
    std::vector<ValueId> read_once, kept;
    mutable KeptConstants constants;
    std::vector<Step> steps;
    std::vector<ValueId> outputs;  // results, then what is written to buffers
    std::size_t num_values = 0;

    explicit Plan(c10::Device device) : device(device) {}
    void find_kept(const Graph& graph, const std::vector<graph::NodeId>& order,
                   std::size_t first_once, std::size_t first_other);
    void run_all(const std::vector<Step>& some, Environment& values) const;
};

void GraphExecutor::Plan::find_kept(const Graph& graph, const std::vector<graph::NodeId>& order,
                                    std::size_t first_once, std::size_t first_other) {
    std::set<ValueId> made, read;
    for (std::size_t i = first_once; i < order.size(); ++i) {
        const Node& node = graph[order[i]];
        const bool is_once = i < first_other;
        for (const auto id : graph::tensor_inputs(node)) {
            if (made.contains(id) == is_once) continue;
            if (read.insert(id).second) (is_once ? read_once : kept).push_back(id);
        }
        if (is_once) made.insert(node.outputs.begin(), node.outputs.end());
    }
}

void GraphExecutor::Plan::run_all(const std::vector<Step>& some, Environment& values) const {
    for (const auto& step : some) {
        try {
            run_step(step, values);
        } catch (c10::Error& error) {
            error.add_context("in " + step.where);
            throw;
        }
    }
}

Result<GraphExecutor> GraphExecutor::build(const Graph& graph, const ExecutorOptions& options) {
    if (const auto broken = graph::verify(graph); !broken.empty())
        return Error{"the graph is not sound: " + broken, {}};
    auto plan = std::make_shared<Plan>(options.device);
    plan->num_values = graph.values.size();
    std::set<std::string> fqns;
    for (const auto& input : graph.inputs) {
        if (input.fixed) continue;
        fqns.insert(input.fqn);
        plan->inputs.push_back(input.value);
    }
    const auto spots = graph::spots(graph);
    std::vector<graph::NodeId> order(graph.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<graph::NodeId>(i);
    std::ptrdiff_t first_once = 0, first_other = 0;
    if (options.keeps_constants) {
        const auto constant = graph::constant_nodes(graph);
        const auto before = needed_before(graph, constant);
        const auto group = [&](graph::NodeId id) {
            return before[index(id)] ? 0 : constant[index(id)] ? 1 : 2;
        };
        std::ranges::stable_sort(order, {}, group);
        first_once = std::ranges::count(order, 0, group);
        first_other = first_once + std::ranges::count(order, 1, group);
        plan->find_kept(graph, order, static_cast<std::size_t>(first_once),
                        static_cast<std::size_t>(first_other));
    }
    for (const auto id : order) {
        const Node& node = graph[id];
        auto step = make_step(graph, node, spots, options);
        if (!step)
            return Error{fmt::format("{}: {}", describe(node), step.error().message),
                         step.error().hint};
        plan->steps.push_back(std::move(*step));
    }
    std::vector<ValueId> written;
    for (const auto& output : graph.outputs) {
        if (!output.value) continue;
        if (!output.mutates.empty() && !fqns.contains(output.mutates))
            return Error{fmt::format("the graph writes to {}, which is not one of its inputs",
                                     output.mutates),
                         {}};
        (output.mutates.empty() ? plan->outputs : written).push_back(*output.value);
    }
    plan->outputs.insert(plan->outputs.end(), written.begin(), written.end());
    mark_dead_values(graph, order, plan->steps);
    const auto begin = std::make_move_iterator(plan->steps.begin());
    plan->first.assign(begin, begin + first_once);
    plan->once.assign(begin + first_once, begin + first_other);
    plan->steps.erase(plan->steps.begin(), plan->steps.begin() + first_other);
    GraphExecutor executor;
    executor.plan_ = std::move(plan);
    return executor;
}

Tensors GraphExecutor::run(const Tensors& inputs) const {
    TORCH_CHECK(
        inputs.size() == plan_->inputs.size(),
        fmt::format("the graph takes {} tensors, got {}", plan_->inputs.size(), inputs.size()));
    at::NoGradGuard no_grad;
    // Types are as traced: torch.autocast would change the types of some operators but no kernel's.
    const c10::impl::ExcludeDispatchKeyGuard traced_types(c10::autocast_dispatch_keyset);
    Environment values(plan_->num_values);
    for (std::size_t i = 0; i < inputs.size(); ++i) values[index(plan_->inputs[i])] = inputs[i];
    {
        // Operators run below Autograd but still through ADInplaceOrView, so that views of a weight
        // share its version counter.
        at::AutoDispatchBelowAutograd below_autograd;
        plan_->run_all(plan_->first, values);
        if (!plan_->once.empty()) {
            const auto tensors = [&](const std::vector<ValueId>& ids) {
                Tensors all;
                for (const auto id : ids) all.push_back(values[index(id)].toTensor());
                return all;
            };
            const auto kept = plan_->constants.get(plan_->device, tensors(plan_->read_once), [&] {
                plan_->run_all(plan_->once, values);
                return tensors(plan_->kept);
            });
            for (std::size_t i = 0; i < kept.size(); ++i) values[index(plan_->kept[i])] = kept[i];
        }
        plan_->run_all(plan_->steps, values);
    }
    Tensors results;
    for (const auto value : plan_->outputs) results.push_back(values[index(value)].toTensor());
    return results;
}

void GraphExecutor::refresh() const {
    plan_->constants.forget();
}

}  // namespace fact::exec

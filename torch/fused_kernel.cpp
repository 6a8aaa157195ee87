#include "torch/fused_kernel.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <unordered_map>

#include "ir/interpreter.h"
#include "torch/prepared_weights.h"
#include "torch/stream.h"
#include "torch/tensors.h"
#include "verify/binding_view.h"

namespace fact::exec {

namespace {

// Which tensor of the call a tensor of the kernel is.
struct Place {
    std::size_t index = 0;  // among the call's inputs or results
    graph::Binding binding;
};

Result<std::vector<Place>> places(const std::vector<std::string>& tensors,
                                  const std::vector<graph::Binding>& bindings,
                                  const std::vector<std::string>& values) {
    std::vector<Place> result;
    for (const auto& tensor : tensors) {
        const auto before = result.size();
        for (const auto& binding : bindings) {
            if (binding.tensor != tensor) continue;
            const auto value = std::ranges::find(values, binding.value);
            if (value == values.end())
                return Error{fmt::format("{} is bound to {}, which the call does not have", tensor,
                                         binding.value),
                             {}};
            result.push_back({static_cast<std::size_t>(value - values.begin()), binding});
        }
        if (result.size() == before)
            return Error{fmt::format("the kernel's tensor {} is not bound to a value", tensor), {}};
    }
    return result;
}

// The view a kernel takes of a tensor, as gpu::TensorArg or ir::TensorView.
template <class View>
Result<View> bind(const graph::Binding& binding, const at::Tensor& tensor) {
    const auto dtype = dtype_of(tensor.scalar_type());
    if (!dtype)
        return Error{fmt::format("{} has an element type no kernel takes", binding.value), {}};
    auto view = verify::view_through(binding, tensor.sizes(), tensor.strides());
    if (!view) return view.error();
    // Kernels only read their parameters; data_ptr would copy a lazily cloned one.
    auto* data = static_cast<char*>(const_cast<void*>(tensor.const_data_ptr())) +
                 view->offset * tensor.element_size();
    return View{data, *dtype, std::move(view->sizes), std::move(view->strides)};
}

// Whether the next part of a tensor lies where its view goes on; the second one says how far that
// is.
template <class View>
bool append(View& whole, const View& part) {
    const auto bytes = static_cast<const char*>(part.data) - static_cast<const char*>(whole.data);
    const auto parts = whole.sizes.empty() ? 0 : whole.sizes[0];
    const std::int64_t width = info(whole.dtype).bytes;
    if (parts == 0 || bytes <= 0 || bytes % (parts * width) != 0) return false;
    const std::int64_t distance = bytes / (parts * width);
    if (parts == 1) whole.strides[0] = distance;
    const auto rest = [](const std::vector<std::int64_t>& all) {
        return std::span(all).subspan(1);
    };
    whole.sizes[0] = parts + 1;
    return whole.strides[0] == distance && whole.dtype == part.dtype &&
           std::ranges::equal(rest(whole.sizes), rest(part.sizes)) &&
           std::ranges::equal(rest(whole.strides), rest(part.strides));
}

template <class View>
Result<std::vector<View>> bind_all(const std::vector<Place>& places, const Tensors& tensors) {
    std::vector<View> views;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto& binding = places[i].binding;
        auto view = bind<View>(binding, tensors[places[i].index]);
        if (!view) return view.error();
        if (i == 0 || places[i - 1].binding.tensor != binding.tensor)
            views.push_back(std::move(*view));
        else if (!append(views.back(), *view))
            return Error{fmt::format("{} does not lie behind the other parts of {}", binding.value,
                                     binding.tensor),
                         {}};
    }
    return views;
}

}  // namespace

struct FusedKernel::State {
    graph::FusedCall call;
    ir::Kernel text;
    Compiled compiled;
    std::vector<Place> params, results;
    std::vector<std::vector<std::size_t>> together;      // results that lie in one tensor
    std::map<ParamSet, PreparedWorkspaces> prepared_by;  // sets of constant parameters only
    PreparedWeights prepared;
    std::atomic<bool> complained = false;
    std::mutex mutex;
    std::unordered_map<c10::Device, GraphExecutor> originals;

    void complain(const std::string& why) {
        if (complained.exchange(true)) return;
        fmt::print(stderr, "fact: {} runs as the original operators: {}\n", call.id, why);
    }

    GraphExecutor& original_on(c10::Device device) {
        const std::lock_guard lock(mutex);
        const auto found = originals.find(device);
        if (found != originals.end()) return found->second;
        auto built = GraphExecutor::build(call.original, {device, {}});
        TORCH_CHECK(built.ok(), call.id, ": ", built.ok() ? "" : built.error().text());
        return originals.emplace(device, std::move(*built)).first->second;
    }

    Result<> interpret(const Tensors& inputs, const Tensors& outputs) {
        auto in = bind_all<ir::TensorView>(params, inputs);
        if (!in) return in.error();
        auto out = bind_all<ir::TensorView>(results, outputs);
        if (!out) return out.error();
        return ir::interpret(text, *in, *out);
    }

    Tensors weights_of(const ParamSet& set, const Tensors& inputs) const {
        Tensors weights;
        for (const int param : set) weights.push_back(inputs[params[param].index]);
        return weights;
    }

    Result<> launch(const Tensors& inputs, const Tensors& outputs,
                    const WorkspaceSource& workspace);
};

Result<> FusedKernel::State::launch(const Tensors& inputs, const Tensors& outputs,
                                    const WorkspaceSource& workspace) {
    if (!compiled.kernel) return Error{compiled.why_not, {}};
    const auto device = inputs.at(0).device();
    if (device.index() != compiled.device)
        return Error{
            fmt::format("the kernel was loaded on GPU {}, the tensors are on GPU {}",
                        static_cast<int>(compiled.device), static_cast<int>(device.index())),
            {}};
    auto tensors = bind_all<gpu::TensorArg>(params, inputs);
    if (!tensors) return tensors.error();
    auto out = bind_all<gpu::TensorArg>(results, outputs);
    if (!out) return out.error();
    tensors->insert(tensors->end(), out->begin(), out->end());
    const auto& kernel = *compiled.kernel;
    if (const auto why = kernel.refuses(*tensors); !why.empty()) return Error{why, {}};

    const c10::DeviceGuard guard(device);
    void* stream = current_cuda_stream(device.index());
    const bool capturing = !prepared_by.empty() && is_capturing(stream);
    auto workspaces = kernel.workspaces(*tensors);
    Tensors memory(workspaces.size());
    std::vector<ParamSet> ready, to_keep;
    std::vector<bool> needed(workspaces.size(), true);
    for (const auto& [set, own] : prepared_by) {
        if (workspace) break;
        const auto weights = weights_of(set, inputs);
        if (!PreparedWeights::can_watch(weights)) continue;
        if (auto kept = prepared.find(set, weights, capturing)) {
            for (std::size_t i = 0; i < own.kept.size(); ++i) memory[own.kept[i]] = (*kept)[i];
            for (const int i : own.passing) needed[i] = false;
            ready.push_back(set);
        } else if (!capturing) {  // memory of a graph being captured is not filled yet
            to_keep.push_back(set);
        }
    }
    for (std::size_t i = 0; i < workspaces.size(); ++i) {
        const auto dtype = scalar_type(workspaces[i].dtype);
        if (workspace)
            memory[i] = workspace(workspaces[i].sizes, dtype);
        else if (!memory[i].defined() && needed[i])
            memory[i] = at::empty(workspaces[i].sizes, at::TensorOptions(dtype).device(device));
        if (memory[i].defined()) workspaces[i].data = memory[i].data_ptr();
        tensors->push_back(workspaces[i]);
    }
    const auto launched = kernel.launch(*tensors, ready, stream);
    TORCH_CHECK(launched.ok(), call.id, ": ", launched.ok() ? "" : launched.error().text());
    if (to_keep.empty()) return Ok{};
    // Once per weight: whoever finds the workspace may be on another stream.
    synchronize(device);
    for (const auto& set : to_keep) {
        Tensors kept;
        for (const int i : prepared_by.at(set).kept) kept.push_back(memory[i]);
        prepared.keep(set, weights_of(set, inputs), std::move(kept));
    }
    return Ok{};
}

FusedKernel::FusedKernel(std::unique_ptr<State> state) : state_(std::move(state)) {}
FusedKernel::~FusedKernel() = default;

Result<std::shared_ptr<FusedKernel>> FusedKernel::make(graph::FusedCall call, ir::Kernel text,
                                                       Compiled compiled) {
    std::vector<std::string> params, outputs, inputs, results;
    for (const auto& param : text.params) params.push_back(param.name);
    for (const auto& output : text.outputs) outputs.push_back(output.tensor.name);
    const auto& graph = call.original;
    for (const auto& input : graph.inputs) inputs.push_back(graph[input.value].name);
    for (const auto& output : graph.outputs) {
        if (!output.value || !graph[*output.value].type)
            return Error{fmt::format("{} has a result that is not a tensor", call.id), {}};
        results.push_back(graph[*output.value].name);
    }
    auto in = places(params, call.params, inputs);
    if (!in) return Error{fmt::format("{}: {}", call.id, in.error().message), {}};
    auto out = places(outputs, call.results, results);
    if (!out) return Error{fmt::format("{}: {}", call.id, out.error().message), {}};
    if (inputs.empty() || in->size() != params.size() || out->size() != results.size())
        return Error{fmt::format("{}: the kernel gives {} of the call's {} results", call.id,
                                 out->size(), results.size()),
                     {}};
    auto state = std::make_unique<State>();
    if (compiled.kernel) {
        const auto& record = compiled.kernel->record();
        if (record.params.size() != params.size() || record.outputs.size() != outputs.size())
            return Error{fmt::format("{}: the launch record is of another kernel", call.id), {}};
        state->prepared_by = prepared_workspaces(record);
        const auto changes = [&](int param) { return !(*in)[param].binding.constant; };
        std::erase_if(state->prepared_by,
                      [&](const auto& item) { return std::ranges::any_of(item.first, changes); });
    }
    state->together = graph::outputs_together(call);
    state->call = std::move(call);
    state->text = std::move(text);
    state->compiled = std::move(compiled);
    state->params = std::move(*in);
    state->results = std::move(*out);
    return std::shared_ptr<FusedKernel>(new FusedKernel(std::move(state)));
}

const graph::FusedCall& FusedKernel::call() const {
    return state_->call;
}

Result<Tensors> FusedKernel::allocate_outputs(const Tensors& inputs) const {
    const auto& graph = state_->call.original;
    TORCH_CHECK(inputs.size() == graph.inputs.size(), state_->call.id, " takes ",
                graph.inputs.size(), " tensors, got ", inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& value = graph[graph.inputs[i].value];
        if (value.type && !std::ranges::equal(value.type->sizes, inputs[i].sizes()))
            return Error{value.name + " is not of the shape the module was traced with", {}};
    }
    Tensors outputs(graph.outputs.size());
    for (const auto& parts : state_->together) {
        const auto& type = *graph[*graph.outputs[parts.front()].value].type;
        const auto options = at::TensorOptions(scalar_type(type.dtype)).device(inputs[0].device());
        if (parts.size() == 1) {
            outputs[parts.front()] = at::empty_strided(type.sizes, type.strides, options);
            continue;
        }
        constexpr std::int64_t kAligned = 128;  // elements
        std::int64_t length = 1;
        for (std::size_t d = 0; d < type.sizes.size(); ++d)
            length += (type.sizes[d] - 1) * type.strides[d];
        length = (length + kAligned - 1) / kAligned * kAligned;
        const auto all = at::empty({static_cast<std::int64_t>(parts.size()) * length}, options);
        for (std::size_t i = 0; i < parts.size(); ++i)
            outputs[parts[i]] =
                all.as_strided(type.sizes, type.strides, static_cast<std::int64_t>(i) * length);
    }
    return outputs;
}

Result<> FusedKernel::run_kernel(const Tensors& inputs, const Tensors& outputs,
                                 const WorkspaceSource& workspace) {
    for (const auto& tensor : inputs)
        if (tensor.device() != inputs[0].device())
            return Error{"the tensors are on different devices", {}};
    if (inputs[0].device().is_cuda()) return state_->launch(inputs, outputs, workspace);
    if (inputs[0].device().is_cpu()) return state_->interpret(inputs, outputs);
    return Error{fmt::format("there are no kernels for {}", inputs[0].device().str()), {}};
}

Tensors FusedKernel::run_original(const Tensors& inputs) {
    return state_->original_on(inputs.at(0).device()).run(inputs);
}

Tensors FusedKernel::run(const Tensors& inputs) {
    auto outputs = allocate_outputs(inputs);
    if (!outputs) {
        state_->complain(outputs.error().message);
        return run_original(inputs);
    }
    if (const auto done = run_kernel(inputs, *outputs); !done) {
        state_->complain(done.error().message);
        return run_original(inputs);
    }
    return std::move(*outputs);
}

}  // namespace fact::exec

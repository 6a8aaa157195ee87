#include "torch/fused_kernel.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "ir/interpreter.h"
#include "torch/fallback.h"
#include "torch/parts.h"
#include "torch/prepared_weights.h"
#include "torch/stream.h"
#include "torch/tensors.h"

namespace fact::exec {

namespace {

bool reads(const LaunchRecord& record, const Launch& launch, int tensor) {
    bool found = false;
    for_each_tensor(record, launch, [&](int used) { found |= used == tensor; });
    return found;
}

}  // namespace

struct FusedKernel::State {
    explicit State(std::string kernel_identity) : prepared(std::move(kernel_identity)) {}

    graph::FusedCall call;
    ir::Kernel text;
    Compiled compiled;
    std::vector<Parts> params, results;
    std::vector<graph::OutputGroup> output_groups;
    // What launches prepare, by the parameters they prepare it from, which are all constant.
    std::map<ParamSet, PreparedWorkspaces> prepared_by;
    PreparedWeights prepared;        // the memory of those workspaces
    PreparedWeights joined{"join"};  // weights that are bound in several parts, as one tensor
    CallCounts counts;
    std::mutex mutex;  // guards the field below
    std::unordered_map<c10::Device, GraphExecutor> originals;

    // Whether there is what runs the text on this device, whatever it says of certain tensors.
    bool is_loaded_on(c10::Device device) const {
        if (device.is_cpu()) return !text.only_interface;
        return device.is_cuda() && compiled.kernel && compiled.kernel->on(device.index());
    }
    void record_fallback(const std::string& why) {
        if (counts.add_fallback(why))
            warn_of_fallback(
                fmt::format("{} runs as torch's operators, not as its kernel: {}", call.id, why));
    }

    GraphExecutor& original_on(c10::Device device) {
        const std::lock_guard lock(mutex);
        const auto found = originals.find(device);
        if (found != originals.end()) return found->second;
        auto built = GraphExecutor::build(call.original, {device, {}});
        TORCH_CHECK(built.ok(), call.id, ": ", built.ok() ? "" : built.error().text());
        return originals.emplace(device, std::move(*built)).first->second;
    }

    // The interpreter would take any element type, and return results of the traced one.
    Result<> check_types(const Tensors& inputs) const {
        for (std::size_t i = 0; i < params.size(); ++i)
            for (const Place& part : params[i])
                if (const auto type = inputs[part.index].scalar_type();
                    type != scalar_type(text.params[i].type.dtype)) {
                    const auto given = dtype_of(type);
                    return Error{
                        fmt::format("{} is {}, but the kernel takes {}", text.params[i].name,
                                    given ? info(*given).name : c10::toString(type),
                                    info(text.params[i].type.dtype).name),
                        {}};
                }
        return Ok{};
    }

    Result<> interpret(const Tensors& inputs, const Tensors& outputs) {
        std::vector<ir::TensorView> in;
        Tensors wholes;  // keeps joined parts alive until the interpreter is done
        for (const Parts& parts : params) {
            wholes.push_back(parts.size() > 1 ? at::cat(tensors_of(parts, inputs))
                                              : inputs[parts[0].index]);
            auto view = bind<ir::TensorView>(parts[0].binding, wholes.back());
            if (!view) return view.error();
            in.push_back(std::move(*view));
        }
        auto out = bind_results<ir::TensorView>(results, outputs);
        if (!out) return out.error();
        return ir::interpret(text, in, *out);
    }

    Tensors weights_of(const ParamSet& set, const Tensors& inputs) const {
        Tensors weights;
        for (const int param : set)
            for (const Place& part : params[static_cast<std::size_t>(param)])
                weights.push_back(inputs[part.index]);
        return weights;
    }

    // Whether the parameter is read only by launches that prepare workspaces from these sets.
    bool only_read_to_prepare(int param, const std::vector<ParamSet>& sets) const {
        return std::ranges::all_of(compiled.kernel->record().launches, [&](const Launch& launch) {
            return !reads(compiled.kernel->record(), launch, param) ||
                   std::ranges::find(sets, launch.prepares_from) != sets.end();
        });
    }

    struct Preparation {
        Reader reader;
        // Locked from the start of the first preparation until everything prepared is kept.
        std::unique_lock<std::mutex> lock{PreparedWeights::preparation_mutex(), std::defer_lock};
    };
    at::Tensor joined_weight(int param, const Tensors& inputs, bool keep, Preparation& preparation);
    Result<std::vector<gpu::TensorArg>> bind_params(const Tensors& inputs) const;
    Result<> launch(const Tensors& inputs, const Tensors& outputs,
                    const WorkspaceSource& workspace);
};

// The parts of a weight as one tensor. If `keep`, that tensor is kept until a part changes, unless
// it is only needed to prepare something that is kept itself.
at::Tensor FusedKernel::State::joined_weight(int param, const Tensors& inputs, bool keep,
                                             Preparation& preparation) {
    const auto parts = tensors_of(params[static_cast<std::size_t>(param)], inputs);
    std::vector<ParamSet> prepared_sets;
    for (const auto& [set, own] : prepared_by) prepared_sets.push_back(set);
    keep = keep && PreparedWeights::can_watch(parts) && !only_read_to_prepare(param, prepared_sets);
    if (!keep) return at::cat(parts);
    if (auto kept = joined.find({param}, parts, preparation.reader)) return kept->front();
    if (preparation.reader.capturing) return at::cat(parts);
    if (!preparation.lock.owns_lock()) {
        preparation.lock.lock();  // another thread may have made it by now
        if (auto kept = joined.find({param}, parts, preparation.reader)) return kept->front();
    }
    auto before = seen(parts);
    at::Tensor all;
    if (const auto memory = joined.captured({param}, parts)) {
        all = memory->front();  // a CUDA graph reads this memory, so it is filled in place
        at::cat_out(all, parts);
    } else {
        all = at::cat(parts);
    }
    synchronize(all.device());  // the next call may read it on another stream
    joined.keep({param}, std::move(before), {all});
    return all;
}

// How the kernel sees its parameters. A parameter of several parts gets no memory here: launch()
// joins the parts.
Result<std::vector<gpu::TensorArg>> FusedKernel::State::bind_params(const Tensors& inputs) const {
    std::vector<gpu::TensorArg> views;
    for (const Parts& parts : params) {
        at::Tensor tensor = inputs[parts[0].index];
        if (parts.size() > 1) {
            auto sizes = tensor.sizes().vec();
            for (std::size_t p = 1; p < parts.size(); ++p)
                sizes[0] += inputs[parts[p].index].size(0);
            tensor = at::empty(sizes, tensor.options().device(c10::kMeta));
        }
        auto view = bind<gpu::TensorArg>(parts[0].binding, tensor);
        if (!view) return view.error();
        views.push_back(std::move(*view));
    }
    return views;
}

Result<> FusedKernel::State::launch(const Tensors& inputs, const Tensors& outputs,
                                    const WorkspaceSource& workspace) {
    if (!compiled.kernel) return Error{compiled.why_not, {}};
    const auto device = inputs.at(0).device();
    const c10::DeviceGuard guard(device);
    const auto loaded = compiled.kernel->on(device.index());
    if (!loaded) return loaded.error();
    const auto& kernel = *loaded;
    void* stream = current_cuda_stream(device.index());
    Preparation preparation{{is_capturing(stream), current_stream(device)}};
    std::vector<ParamSet> ready;              // sets whose workspaces are filled already
    std::map<ParamSet, SeenWeights> to_keep;  // sets whose workspaces this launch fills for later
    // Workspaces that are not allocated here: filled already, to be filled in place, or not needed.
    std::map<int, at::Tensor> given;
    const auto find_prepared = [&] {
        ready.clear(), to_keep.clear(), given.clear();
        for (const auto& [set, own] : prepared_by) {
            const auto weights = weights_of(set, inputs);
            if (!PreparedWeights::can_watch(weights)) continue;
            auto kept = prepared.find(set, weights, preparation.reader);
            if (kept) {
                for (const int i : own.temporary) given[i];  // stays without memory
                ready.push_back(set);
            } else if (!preparation.reader.capturing) {  // a capture fills no memory yet
                to_keep[set] = seen(weights);
                kept = prepared.captured(set, weights);
            }
            for (std::size_t i = 0; kept && i < own.kept.size(); ++i)
                given[own.kept[i]] = (*kept)[i];
        }
    };
    if (!workspace) find_prepared();
    if (!to_keep.empty()) {
        preparation.lock.lock();
        find_prepared();  // another thread may have prepared it by now
    }
    auto tensors = bind_params(inputs);
    if (!tensors) return tensors.error();
    auto out = bind_results<gpu::TensorArg>(results, outputs);
    if (!out) return out.error();
    tensors->insert(tensors->end(), out->begin(), out->end());
    if (const auto why = kernel.why_refused(*tensors); !why.empty()) return Error{why, {}};
    Tensors wholes;  // keeps joined weights alive until the launch
    for (std::size_t i = 0; i < params.size(); ++i) {
        const int param = static_cast<int>(i);
        if (params[i].size() == 1 || only_read_to_prepare(param, ready)) continue;
        wholes.push_back(joined_weight(param, inputs, !workspace, preparation));
        (*tensors)[i].data = wholes.back().data_ptr();
    }

    auto workspaces = kernel.workspaces(*tensors);
    Tensors memory(workspaces.size());
    for (std::size_t i = 0; i < workspaces.size(); ++i) {
        const auto dtype = scalar_type(workspaces[i].dtype);
        if (const auto at = given.find(static_cast<int>(i)); at != given.end())
            memory[i] = at->second;
        else if (workspace)
            memory[i] = workspace(workspaces[i].sizes, dtype);
        else
            memory[i] = at::empty(workspaces[i].sizes, at::TensorOptions(dtype).device(device));
        if (memory[i].defined()) workspaces[i].data = memory[i].data_ptr();
        tensors->push_back(workspaces[i]);
    }
    const auto launched = kernel.launch(*tensors, ready, stream);
    TORCH_CHECK(launched.ok(), call.id, ": ", launched.ok() ? "" : launched.error().text());
    if (to_keep.empty()) return Ok{};
    // Once per set of weights: the next call may read the workspaces on another stream.
    synchronize(device);
    for (auto& [set, weights] : to_keep) {
        Tensors kept;
        for (const int i : prepared_by.at(set).kept) kept.push_back(memory[i]);
        prepared.keep(set, std::move(weights), std::move(kept));
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
    if (inputs.empty()) return Error{fmt::format("{}: the call has no inputs", call.id), {}};
    if (call.results.size() != results.size())
        return Error{fmt::format("{}: the kernel gives {} of the call's {} results", call.id,
                                 call.results.size(), results.size()),
                     {}};
    auto state =
        std::make_unique<State>(compiled.kernel ? compiled.kernel->identity() : std::string());
    if (compiled.kernel) {
        const auto& record = compiled.kernel->record();
        if (record.params.size() != params.size() || record.outputs.size() != outputs.size())
            return Error{fmt::format("{}: the launch record belongs to another kernel", call.id),
                         {}};
        state->prepared_by = prepared_workspaces(record);
        const auto varies = [&](int param) {
            return std::ranges::any_of((*in)[static_cast<std::size_t>(param)],
                                       [](const Place& part) { return !part.binding.constant; });
        };
        std::erase_if(state->prepared_by,
                      [&](const auto& item) { return std::ranges::any_of(item.first, varies); });
    }
    state->output_groups = graph::group_outputs(call);
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

Result<Tensors> FusedKernel::allocate_outputs(const Tensors& inputs, const Tensors& into) const {
    const auto& graph = state_->call.original;
    TORCH_CHECK(inputs.size() == graph.inputs.size(),
                fmt::format("{} takes {} tensors, got {}", state_->call.id, graph.inputs.size(),
                            inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& value = graph[graph.inputs[i].value];
        if (value.type && !std::ranges::equal(value.type->sizes, inputs[i].sizes()))
            return Error{fmt::format("{} has the sizes [{}], but was traced with [{}]", value.name,
                                     sizes_text(inputs[i]), fmt::join(value.type->sizes, ", ")),
                         {}};
    }
    return outputs_of(state_->output_groups, graph.outputs.size(), inputs[0].device(), into);
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

Tensors FusedKernel::run(const Tensors& inputs, bool strict, const Tensors& into) {
    auto outputs = allocate_outputs(inputs, into);
    const auto device = inputs.at(0).device();
    TORCH_CHECK(
        !strict || !device.is_cpu(), state_->call.id,
        " is not run by its kernel, and the package was loaded with strict=True: its tensors "
        "are on the CPU");
    auto done = outputs ? state_->check_types(inputs) : Result<>(outputs.error());
    std::string refused;
    if (done) {
        done = run_kernel(inputs, *outputs);
        const bool told = std::ranges::any_of(into, [](const auto& one) { return one.defined(); });
        if (!done && told && state_->is_loaded_on(device)) {
            refused = done.error().message;  // perhaps only because of where it was to write
            outputs = allocate_outputs(inputs);
            done = run_kernel(inputs, *outputs);
        }
    }
    if (done) {
        state_->counts.add_run(device, refused);
        return std::move(*outputs);
    }
    const auto& why = done.error().message;
    TORCH_CHECK(!strict, state_->call.id,
                " is not run by its kernel, and the package was loaded with strict=True: ", why);
    state_->record_fallback(why);
    return run_original(inputs);
}

void FusedKernel::load_on(c10::DeviceIndex device) {
    // A failure is remembered, and reported when the kernel is called.
    if (state_->compiled.kernel) (void)state_->compiled.kernel->on(device);
}

void FusedKernel::refresh() {
    state_->prepared.forget();
    state_->joined.forget();
}

CallStatus FusedKernel::status(c10::Device device) {
    CallStatus status;
    status.call = state_->call.id;
    status.kernel = state_->call.kernel;
    const auto& compiled = state_->compiled;
    if (!compiled.kernel)
        status.cannot_run = compiled.why_not;
    else if (!device.is_cuda())
        status.cannot_run = fmt::format("the module is on {}", device.str());
    else if (const auto loaded = compiled.kernel->on(device.index()); !loaded)
        status.cannot_run = loaded.error().message;
    state_->counts.tell(status);
    return status;
}

}  // namespace fact::exec

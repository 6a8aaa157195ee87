#include "torch/package.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "graph/canonical.h"
#include "graph/graph_json.h"
#include "package/files.h"
#include "package/operators.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/json_fields.h"
#include "support/result.h"
#include "torch/contract.h"
#include "torch/kernel_files.h"
#include "torch/stream.h"
#include "torch/tensors.h"

namespace fact::exec {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr std::string_view kWriteAgain =
    "write the package again with `fact optimize`, or `fact compose` on its run folder";

// Whether the two are one weight under two names.
bool is_alias(const graph::Weight& a, const graph::Weight& b) {
    return a.storage.data() == b.storage.data() && a.type == b.type && !a.storage.empty();
}

// What torch.export recorded for an argument that is not a tensor.
json fixed_value(const graph::Argument& argument) {
    return std::visit(
        overloaded{
            [](const one_of<bool, std::int64_t, std::string> auto& v) -> json { return v; },
            [](double v) -> json {
                // JSON has no infinities and NaN: written as in python/fact/_call.py.
                if (!std::isfinite(v)) return json::array({"float", fmt::format("{}", v)});
                return v;
            },
            [](const one_of<graph::None, ValueId, std::vector<ValueId>,
                            std::vector<std::optional<ValueId>>, std::vector<bool>,
                            std::vector<std::int64_t>, std::vector<double>,
                            std::vector<std::string>, graph::DTypeArg, graph::MemoryFormatArg,
                            graph::LayoutArg, graph::DeviceArg, graph::OpaqueArg> auto&) -> json {
                return nullptr;
            },
        },
        argument);
}

std::vector<std::int64_t> as_numbers(c10::SymIntArrayRef symbolic) {
    std::vector<std::int64_t> result;
    for (const auto& size : symbolic) result.push_back(size.guard_int(__FILE__, __LINE__));
    return result;
}

}  // namespace

struct Package::State {
    graph::Graph graph;
    graph::Archive archive;
    json module_facts;  // fact.json of a bare archive; a package has a manifest instead
    std::string identity;
    std::vector<std::string> namespaces;  // of operators that the package says it calls
    Contract contract;
    bool without_weights = false;
    std::map<std::string, std::shared_ptr<FusedKernel>> calls;  // by their ids
    std::mutex mutex;
    std::unordered_map<c10::Device, GraphExecutor> executors, strict_executors;
    std::unordered_map<c10::Device, Tensors> own_weights;

    GraphExecutor& executor_on(c10::Device device, bool strict) {
        const std::lock_guard lock(mutex);
        auto& by_device = strict ? strict_executors : executors;
        const auto found = by_device.find(device);
        if (found != by_device.end()) return found->second;
        const auto fused = [&](const std::string& id) -> FusedFunction {
            const auto call = calls.find(id);
            if (call == calls.end()) return {};
            const auto kernel = call->second;
            return [kernel, strict, device](const Tensors& inputs, const Tensors& into) {
                return device.is_meta() ? kernel->run_original(inputs)
                                        : kernel->run(inputs, strict, into);
            };
        };
        auto built = GraphExecutor::build(graph, {device, fused, true});
        TORCH_CHECK(built.ok(), built.ok() ? "" : built.error().text());
        return by_device.emplace(device, std::move(*built)).first->second;
    }

    Result<> make_contract();
    Tensors run_on_meta(const Tensors& inputs);
};

Result<> Package::State::make_contract() {
    std::map<std::string, const graph::FusedCall*> by_id;
    for (const auto& [id, kernel] : calls) by_id[id] = &kernel->call();
    auto made = Contract::make(graph, archive.weights, by_id);
    if (!made) return made.error();
    contract = std::move(*made);
    return Ok{};
}

// Runs the original operators, which give the shapes for any element type.
Tensors Package::State::run_on_meta(const Tensors& inputs) {
    Tensors meta;
    for (const auto& input : inputs)
        meta.push_back(at::empty_strided(as_numbers(input.sym_sizes()),
                                         as_numbers(input.sym_strides()),
                                         input.options().device(c10::kMeta)));
    return executor_on(c10::kMeta, false).run(meta);
}

Package::Package(std::unique_ptr<State> state) : state_(std::move(state)) {}
Package::~Package() = default;

Result<std::shared_ptr<Package>> Package::open_archive(const fs::path& file,
                                                       const LoadOptions& options) {
    auto archive = graph::read_pt2(file);
    if (!archive) return archive.error();
    auto state = std::make_unique<State>();
    auto module_facts = graph::read_pt2_extra(file, "fact.json");
    if (!module_facts) return module_facts.error();
    state->module_facts = try_parse_json(*module_facts).value_or(json());
    const json& facts = state->module_facts;
    state->without_weights = facts.is_object() && facts.value("without_weights", json()) == true;
    state->graph = graph::canonicalize(archive->graph);
    state->namespaces = package::namespaces(state->graph);
    if (auto fine = package::check_operators(state->graph, state->namespaces, options.allow); !fine)
        return fine.error();
    auto content = graph::to_json(state->graph);
    for (const auto& weight : archive->weights)
        content += sha256_hex(
            {reinterpret_cast<const char*>(weight.storage.data()), weight.storage.size()});
    state->identity = sha256_hex(content);
    state->archive = std::move(*archive);
    if (const auto done = state->make_contract(); !done) return done.error();
    return std::shared_ptr<Package>(new Package(std::move(state)));
}

Result<std::shared_ptr<Package>> Package::open(const fs::path& folder, const LoadOptions& options) {
    if (fs::is_regular_file(folder)) return open_archive(folder, options);
    const auto manifest = package::read_manifest(folder);
    if (!manifest) return manifest.error();
    if (auto intact = package::check_files(folder, *manifest); !intact) return intact.error();
    const auto check = [&](const graph::Graph& graph) {
        return package::check_operators(graph, manifest->namespaces, options.allow);
    };
    const auto file = [&](const std::string& path) {
        return package::path_of(folder, *manifest, path);
    };
    for (const auto* needed : {"graph.json", "model.pt2"})
        if (auto listed = file(needed); !listed) return listed.error();
    const auto text = read_file(folder / "graph.json");
    if (!text) return text.error();
    auto graph = graph::graph_from_json(*text);
    if (!graph) return Error{graph.error().message, std::string(kWriteAgain)};
    if (auto fine = check(*graph); !fine) return fine.error();
    auto archive = graph::read_pt2(folder / "model.pt2");
    if (!archive) return Error{archive.error().message, std::string(kWriteAgain)};

    auto state = std::make_unique<State>();
    state->graph = std::move(*graph);
    state->archive = std::move(*archive);
    state->identity = manifest->identity;
    state->namespaces = manifest->namespaces;
    state->without_weights = manifest->without_weights;
    std::map<std::string, Compiled> compiled;  // calls of one family share a kernel
    std::map<std::string, ir::Kernel> texts;
    for (const auto& id : manifest->calls) {
        const auto call_file = file("calls/" + id + ".json");
        if (!call_file) return call_file.error();
        auto call = read_call(*call_file);
        if (!call) return call.error();
        if (auto fine = check(call->original); !fine) return fine.error();
        const auto files = "kernels/" + call->kernel;
        if (!texts.contains(call->kernel)) {
            const auto text_file = file(files + "/kernel.fact");
            if (!text_file) return text_file.error();
            auto kernel_text = read_kernel_text(*text_file);
            if (!kernel_text) return kernel_text.error();
            texts.emplace(call->kernel, std::move(*kernel_text));
        }
        if (!compiled.contains(call->kernel)) {
            const auto cubin = file(files + "/kernel.cubin"), record = file(files + "/record.json");
            // Without them the text is interpreted on the CPU, and torch's operators run on a GPU.
            compiled[call->kernel] = !cubin    ? Compiled{nullptr, cubin.error().message}
                                     : !record ? Compiled{nullptr, record.error().message}
                                               : read_compiled(*cubin, *record);
        }
        const ir::Kernel& kernel_text = texts.at(call->kernel);
        const Compiled& kernel_code = compiled.at(call->kernel);
        auto kernel = FusedKernel::make(std::move(*call), kernel_text, kernel_code);
        if (!kernel) return kernel.error();
        state->calls.emplace(id, std::move(*kernel));
    }
    if (const auto done = state->make_contract(); !done) return done.error();
    // Files were checked, then read: another package may have been put there in between.
    if (const auto now = identity_of(folder); !now || *now != manifest->identity)
        return Error{folder.string() + " was replaced while it was opened", "open it again"};
    return std::shared_ptr<Package>(new Package(std::move(state)));
}

const std::string& Package::identity() const {
    return state_->identity;
}

Result<std::string> Package::identity_of(const fs::path& folder) {
    if (fs::is_regular_file(folder)) return std::string();
    const auto manifest = package::read_manifest(folder);
    if (!manifest) return manifest.error();
    return manifest->identity;
}

Result<> Package::permits(const LoadOptions& options) const {
    const auto check = [&](const graph::Graph& graph) {
        return package::check_operators(graph, state_->namespaces, options.allow);
    };
    if (auto fine = check(state_->graph); !fine) return fine;
    for (const auto& [id, call] : state_->calls)
        if (auto fine = check(call->call().original); !fine) return fine;
    return Ok{};
}

const graph::Graph& Package::graph() const {
    return state_->graph;
}

Tensors Package::weights(const std::vector<std::int64_t>& which) const {
    const auto& sources = state_->archive.weights;
    Tensors result;
    for (const auto place : which) {
        TORCH_CHECK(place >= 0 && place < static_cast<std::int64_t>(sources.size()),
                    fmt::format("the archive has {} weights, and none with number {}",
                                sources.size(), place));
        const auto& weight = sources[static_cast<std::size_t>(place)];
        at::Tensor tensor;
        for (std::size_t i = 0; i < result.size() && !tensor.defined(); ++i) {
            const auto& before = sources[static_cast<std::size_t>(which[i])];
            if (is_alias(before, weight)) tensor = result[i];
        }
        result.push_back(tensor.defined() ? tensor : load_weight(weight));
    }
    return result;
}

Tensors Package::run(const Tensors& inputs, bool strict) {
    const auto& contract = state_->contract;
    contract.check_sizes(inputs);
    contract.check_buffers(inputs);
    return with_own_memory(state_->executor_on(inputs[0].device(), strict).run(inputs), inputs,
                           contract.layouts());
}

void Package::load_on(c10::DeviceIndex device) {
    if (!cuda_available()) return;
    for (const auto& [id, call] : state_->calls) call->load_on(device);
}

void Package::refresh() {
    state_->contract.refresh();
    for (const auto& [id, call] : state_->calls) call->refresh();
    const std::lock_guard lock(state_->mutex);
    for (const auto* executors : {&state_->executors, &state_->strict_executors})
        for (const auto& [device, executor] : *executors) executor.refresh();
}

std::string Package::status_json(c10::Device device) const {
    std::vector<CallStatus> calls;
    for (const auto& [id, call] : state_->calls) calls.push_back(call->status(device));
    return to_json(calls);
}

Tensors Package::shapes(const Tensors& inputs) {
    const auto& contract = state_->contract;
    contract.check_sizes(inputs);
    const auto& layouts = contract.layouts();
    const bool all_as_traced =
        contract.has_traced_dtypes(inputs) &&
        std::ranges::all_of(layouts, [](const auto& layout) { return layout.has_value(); });
    Tensors results = all_as_traced ? Tensors(layouts.size()) : state_->run_on_meta(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!layouts[i]) continue;
        const auto dtype = all_as_traced ? layouts[i]->dtype : results[i].scalar_type();
        results[i] = at::empty_strided(layouts[i]->sizes, layouts[i]->strides,
                                       at::TensorOptions(dtype).device(c10::kMeta));
    }
    return results;
}

const std::string& Package::input_name(std::size_t place) const {
    return state_->contract.input_name(place);
}

Tensors Package::run_with_own_weights(const Tensors& user_inputs) {
    TORCH_CHECK(!user_inputs.empty(), "a package needs at least one tensor to run on");
    TORCH_CHECK(!state_->without_weights,
                "the package was made without weights: give them to run() among its inputs");
    const auto device = user_inputs[0].device();
    const Tensors* weight_inputs = nullptr;
    {
        const std::lock_guard lock(state_->mutex);
        auto found = state_->own_weights.find(device);
        if (found == state_->own_weights.end()) {
            std::map<std::string, at::Tensor> by_fqn;
            std::vector<std::int64_t> all(state_->archive.weights.size());
            std::iota(all.begin(), all.end(), 0);
            const auto loaded = weights(all);
            for (std::size_t i = 0; i < loaded.size(); ++i)
                by_fqn[state_->archive.weights[i].fqn] = loaded[i].to(device);
            Tensors tensors;
            for (const auto& input : state_->graph.inputs) {
                if (input.kind == graph::InputKind::user) continue;
                TORCH_CHECK(by_fqn.contains(input.fqn), "the archive has no weight ", input.fqn);
                tensors.push_back(by_fqn[input.fqn]);
            }
            found = state_->own_weights.emplace(device, std::move(tensors)).first;
        }
        weight_inputs = &found->second;
    }
    Tensors inputs;
    std::size_t next_user = 0, next_weight = 0;
    for (const auto& input : state_->graph.inputs) {
        if (input.fixed) continue;
        const bool user = input.kind == graph::InputKind::user;
        TORCH_CHECK(!user || next_user < user_inputs.size(),
                    fmt::format("the model takes more than the {} tensors that it got",
                                user_inputs.size()));
        inputs.push_back(user ? user_inputs[next_user++] : (*weight_inputs)[next_weight++]);
    }
    TORCH_CHECK(next_user == user_inputs.size(),
                fmt::format("the model takes {} tensors, got {}", next_user, user_inputs.size()));
    auto results = run(inputs);
    // The buffers that the graph writes to get their new values.
    const auto& written = state_->contract.written();
    const std::size_t first_written = results.size() - written.size();
    for (std::size_t i = first_written; i < results.size(); ++i)
        for (std::size_t place = 0; place < inputs.size(); ++place)
            if (input_name(place) == written[i - first_written]) inputs[place].copy_(results[i]);
    results.resize(first_written);
    return results;
}

std::string Package::signature_json() const {
    const auto& graph = state_->graph;
    auto inputs = json::array(), outputs = json::array(), weights = json::array();
    const auto& stored = state_->archive.weights;
    for (const auto& weight : stored) {
        const auto first = std::ranges::find_if(
            stored, [&](const graph::Weight& other) { return is_alias(other, weight); });
        weights.push_back({{"fqn", weight.fqn},
                           {"tied", first == stored.end() ? weight.fqn : first->fqn},
                           {"parameter", weight.is_parameter},
                           {"sizes", weight.type.sizes},
                           {"dtype", info(weight.type.dtype).torch},
                           {"persistent", weight.persistent}});
    }
    for (const auto& input : graph.inputs) {
        json entry{{"user", input.kind == graph::InputKind::user}, {"fqn", input.fqn}};
        if (input.fixed) entry["fixed"] = fixed_value(*input.fixed);
        if (const auto& type = graph[input.value].type; type && !type->dynamic)
            entry["sizes"] = type->sizes, entry["dtype"] = info(type->dtype).torch;
        inputs.push_back(std::move(entry));
    }
    for (const auto& output : graph.outputs) {
        if (!output.mutates.empty()) continue;
        json entry{{"tensor", output.value.has_value()}};
        if (!output.value) entry["fixed"] = fixed_value(output.fixed);
        outputs.push_back(std::move(entry));
    }
    return json{{"in_spec", graph.in_spec},
                {"out_spec", graph.out_spec},
                {"inputs", inputs},
                {"outputs", outputs},
                {"written", state_->contract.written()},
                {"weights", weights},
                {"original", state_->module_facts.is_object() ? state_->module_facts : json()}}
        .dump();
}

}  // namespace fact::exec

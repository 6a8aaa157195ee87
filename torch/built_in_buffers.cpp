#include "torch/built_in_buffers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isnan.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "torch/stream.h"

namespace fact::exec {

namespace {

using graph::InputKind;
using graph::ValueId;

// The elements as integers of the same width.
at::Tensor bits(const at::Tensor& tensor) {
    constexpr c10::ScalarType kTypes[] = {c10::kByte, c10::kShort, c10::kInt, c10::kLong};
    const auto dense = tensor.contiguous();
    for (const auto type : kTypes)
        if (c10::elementSize(type) == dense.dtype().itemsize()) return dense.view(type);
    return dense;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
    if (at::equal(bits(a), bits(b))) return true;
    if (!a.is_floating_point()) return false;
    const auto nan = a.isnan();  // payloads of NaN differ between devices and casts
    return at::equal(nan, b.isnan()) &&
           at::equal(bits(a.masked_fill(nan, 0)), bits(b.masked_fill(nan, 0)));
}

}  // namespace

std::vector<std::size_t> built_in_inputs(
    const graph::Graph& graph, const std::map<std::string, const graph::FusedCall*>& calls) {
    std::set<ValueId> unread;
    for (const auto& node : graph.nodes) {
        if (node.target != graph::kFusedTarget) continue;
        const auto* given = graph::find_argument(node, "inputs");
        const auto* id = graph::find_argument(node, "call");
        if (!given || !id) continue;
        const auto* values = std::get_if<std::vector<ValueId>>(given);
        const auto* name = std::get_if<std::string>(id);
        const auto call = name ? calls.find(*name) : calls.end();
        if (!values || call == calls.end()) continue;
        const auto& [params, original] = std::tie(call->second->params, call->second->original);
        for (std::size_t i = 0; i < std::min(values->size(), original.inputs.size()); ++i) {
            const auto& own = original[original.inputs[i].value].name;
            if (std::ranges::find(params, own, &graph::Binding::value) == params.end())
                unread.insert((*values)[i]);
        }
    }
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        const auto kind = graph.inputs[i].kind;
        if ((kind == InputKind::buffer || kind == InputKind::constant) &&
            unread.contains(graph.inputs[i].value))
            found.push_back(i);
    }
    return found;
}

void BuiltInBuffer::refresh() {
    const std::lock_guard lock(mutex_);
    seen_.clear();
}

void BuiltInBuffer::check(const at::Tensor& tensor) {
    const bool counted = !tensor.is_inference();
    const std::lock_guard lock(mutex_);
    const auto is_checked = [&](const SeenTensor& earlier) {
        return earlier.is(tensor) && earlier.is_unchanged(tensor);
    };
    if (counted && std::ranges::any_of(seen_, is_checked)) return;
    if (tensor.is_cuda() && is_capturing(current_cuda_stream(tensor.device().index()))) return;
    // Taken before the comparison: what is written meanwhile counts as a change.
    SeenTensor now(tensor);
    TORCH_CHECK(holds_values(tensor), "the buffer '", name_,
                "' was changed, but the kernels of this package were made for the values it had: "
                "optimize the module again with the new ones");
    if (!counted) return;
    const auto* storage = tensor.storage().unsafeGetStorageImpl();
    std::erase_if(seen_, [&](const SeenTensor& earlier) {
        const auto alive = earlier.storage.lock();
        return !alive || alive.get() == storage;
    });
    seen_.push_back(std::move(now));
}

bool BuiltInBuffer::holds_values(const at::Tensor& tensor) {
    if (tensor.sizes() != values_.sizes()) return false;
    const at::NoGradGuard no_grad;
    const c10::OptionalDeviceGuard guard(tensor.device());
    return same_bits(tensor, values_as(tensor));
}

at::Tensor BuiltInBuffer::values_as(const at::Tensor& tensor) {
    if (device_values_.defined() && device_values_.device() == tensor.device() &&
        device_values_.scalar_type() == tensor.scalar_type())
        return device_values_;
    auto values = values_.to(tensor.scalar_type()).to(tensor.device());
    if (tensor.is_inference()) device_values_ = values;
    return values;
}

}  // namespace fact::exec

#include "torch/kept_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "torch/stream.h"

namespace fact::exec {

namespace {

Reader reader_on(c10::Device device) {
    if (!device.is_cuda()) return {};
    return {is_capturing(current_cuda_stream(device.index())), current_stream(device)};
}

bool shares_memory(const std::vector<at::Tensor>& made, const std::vector<at::Tensor>& weights) {
    return std::ranges::any_of(made, [&](const at::Tensor& tensor) {
        return std::ranges::any_of(weights,
                                   [&](const at::Tensor& w) { return tensor.is_alias_of(w); });
    });
}

}  // namespace

// Graphs share nothing that they have computed.
std::string KeptConstants::unique_name() {
    static std::atomic<int> count = 0;
    return fmt::format("constants {}", ++count);
}

KeptConstants::Tensors KeptConstants::get(c10::Device device, const Tensors& weights,
                                          const std::function<Tensors()>& compute) {
    if (device.is_meta() || !PreparedWeights::can_watch(weights)) return compute();
    const ParamSet all;  // one set of weights: those of the graph
    const Reader reader = reader_on(device);
    if (auto kept = kept_.find(all, weights, reader)) return *kept;
    if (reader.capturing) return compute();
    const std::lock_guard lock(PreparedWeights::preparation_mutex());
    // Another thread may have computed it by now.
    if (auto kept = kept_.find(all, weights, reader)) return *kept;
    SeenWeights before = seen(weights);
    Tensors made = compute();
    // A weight that is kept alive by what was computed from it would never be freed.
    if (shares_memory(made, weights)) return made;
    if (const auto memory = kept_.captured(all, weights)) {
        // A CUDA graph reads this memory, so it is filled in place.
        for (std::size_t i = 0; i < made.size(); ++i) (*memory)[i].copy_(made[i]);
        made = *memory;
    }
    if (device.is_cuda()) synchronize(device);  // the next call may be on another stream
    kept_.keep(all, std::move(before), made);
    return made;
}

}  // namespace fact::exec

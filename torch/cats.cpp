#include "torch/cats.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/stack.h>

#include <algorithm>

#include "torch/tensors.h"

namespace fact::exec {

namespace {

bool is_same_memory(const at::Tensor& a, const at::Tensor& b) {
    bool same = a.is_alias_of(b) && a.storage_offset() == b.storage_offset();
    for (std::int64_t d = 0; d < a.dim(); ++d)
        same = same && (a.size(d) == 1 || a.stride(d) == b.stride(d));
    return same;
}

at::Tensor joined(const CatStep& step, at::TensorList parts) {
    return step.adds_dim ? at::stack(parts, step.dim) : at::cat(parts, step.dim);
}

// Whether all parts are of the type that was traced, and on one device: no kernel runs on others.
bool are_as_traced(const CatStep& step, const std::vector<at::Tensor>& parts) {
    return std::ranges::all_of(parts, [&](const at::Tensor& part) {
        return part.scalar_type() == scalar_type(step.spot.memory.dtype) &&
               part.device() == parts.front().device();
    });
}

// Copies the parts that are not where they belong; neighbours at once.
void copy_others(const CatStep& step, const std::vector<at::Tensor>& parts,
                 const at::Tensor& whole) {
    const auto length = [&](std::size_t i) { return step.adds_dim ? 1 : parts[i].size(step.dim); };
    std::size_t first = 0;
    std::int64_t start = 0, waiting = 0;
    for (std::size_t i = 0; i <= parts.size(); ++i) {
        const std::int64_t here = start + waiting;
        const bool copied =
            i < parts.size() &&
            !is_same_memory(parts[i], step.adds_dim ? whole.select(step.dim, here)
                                                    : whole.narrow(step.dim, here, length(i)));
        if (copied) {
            waiting += length(i);
            continue;
        }
        if (waiting > 0) {
            const at::TensorList run(parts.data() + first, i - first);
            auto target = whole.narrow(step.dim, start, waiting);
            step.adds_dim ? at::stack_out(target, run, step.dim)
                          : at::cat_out(target, run, step.dim);
        }
        if (i == parts.size()) break;
        start = here + length(i);
        waiting = 0;
        first = i + 1;
    }
}

}  // namespace

at::Tensor at_spot(const graph::Spot& spot, Environment& values, c10::Device device) {
    auto& memory = values[index(spot.whole)];
    if (memory.isNone())
        memory =
            at::empty_strided(spot.memory.sizes, spot.memory.strides,
                              at::TensorOptions(scalar_type(spot.memory.dtype)).device(device));
    if (spot.layout == spot.memory) return memory.toTensor();
    return memory.toTensor().as_strided(spot.layout.sizes, spot.layout.strides, spot.layout.offset);
}

CatStep make_cat_step(const graph::Graph& graph, const graph::Node& node,
                      const graph::Spots& spots) {
    auto cat = graph::read_cat(graph, node);
    const auto own = node.outputs.at(0);
    const auto& spot = spots.at(own);
    return {std::move(cat->parts), spot, static_cast<std::int64_t>(cat->dim), cat->adds_dim,
            spot.whole != own};
}

at::Tensor put_together(const CatStep& step, Environment& values) {
    std::vector<at::Tensor> parts;
    for (const auto id : step.parts) parts.push_back(values[index(id)].toTensor());
    if (!are_as_traced(step, parts)) return joined(step, parts);
    const auto device = parts.front().device();
    // Without memory no kernel has written to it; one still may if it is that of another cat.
    const auto& memory = values[index(step.spot.whole)];
    if (memory.isNone() ? !step.is_part : memory.toTensor().device() != device)
        return joined(step, parts);
    const auto whole = at_spot(step.spot, values, device);
    copy_others(step, parts, whole);
    return whole;
}

}  // namespace fact::exec

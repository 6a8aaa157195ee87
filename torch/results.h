// What an operator returns: tensors that share no memory with its inputs or with each other, in the
// layout that was promised before (to torch.compile, for example).
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "torch/executor.h"

namespace fact::exec {

// How a result is laid out in memory.
struct Layout {
    std::vector<std::int64_t> sizes, strides;
    c10::ScalarType dtype;
};

// The layout that was traced, except that elements of expanded dimensions, which shared memory, get
// their own. nullopt for results whose sizes are not known in advance.
std::optional<Layout> layout_of(const std::optional<graph::TensorType>& type);

// The results, copied if they share memory with an input or another result, or are not laid out as
// they should be.
Tensors with_own_memory(Tensors results, const Tensors& inputs,
                        const std::vector<std::optional<Layout>>& layouts);

}  // namespace fact::exec

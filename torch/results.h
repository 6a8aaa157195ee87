// What an operator gives back: tensors of its own, which share memory with none of its inputs and
// with each other, and lie as was said beforehand (to torch.compile, say).
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "torch/executor.h"

namespace fact::exec {

// How a result lies.
struct Layout {
    std::vector<std::int64_t> sizes, strides;
    c10::ScalarType dtype;
};

// As it was traced, but elements that shared memory (expanded ones) get their own. Nothing for
// results whose sizes are not known before.
std::optional<Layout> layout_of(const std::optional<graph::TensorType>& type);

// The results, copied where they are an input or a part of one or of another result, or lie
// otherwise than their layout says.
Tensors apart(Tensors results, const Tensors& inputs,
              const std::vector<std::optional<Layout>>& layouts);

}  // namespace fact::exec

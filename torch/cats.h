// Cats and stacks of which kernels write parts in place (graph/cats.h), as the executor runs them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

#include "graph/cats.h"

namespace fact::exec {

// By graph::ValueId; what is not computed yet, or not read any more, is None.
using Environment = std::vector<c10::IValue>;

// The memory of a spot. Whoever needs that of a cat first allocates it, as the cat's value.
at::Tensor at_spot(const graph::Spot& spot, Environment& values, c10::Device device);

struct CatStep {
    std::vector<graph::ValueId> parts;
    graph::Spot spot;
    std::int64_t dim = 0;
    bool adds_dim = false;
    bool is_part = false;  // of another cat
};

// Of a node that verify() has accepted.
CatStep make_cat_step(const graph::Graph& graph, const graph::Node& node,
                      const graph::Spots& spots);

// The cat's result: what is not in place is copied.
at::Tensor put_together(const CatStep& step, Environment& values);

}  // namespace fact::exec

// What a graph computes from its weights alone, kept until one of them changes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "torch/prepared_weights.h"

namespace fact::exec {

class KeptConstants {
  public:
    using Tensors = std::vector<at::Tensor>;

    // What compute() makes of these weights, as they are now. It runs only if they have changed, or
    // if torch counts no changes of them; always while a CUDA graph is captured before anything was
    // kept, since a graph's memory is its own. Safe on any thread.
    Tensors get(c10::Device device, const Tensors& weights,
                const std::function<Tensors()>& compute);
    // Everything is computed again when it is next needed.
    void forget() { kept_.forget(); }

  private:
    static std::string unique_name();

    PreparedWeights kept_{unique_name()};
};

}  // namespace fact::exec

// Runs a graph through torch's dispatcher, node by node.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::exec {

using Tensors = std::vector<at::Tensor>;
// The results of a fused call with these inputs. `into`: for each result, the memory to write it to
// if that is possible, and undefined if it may be anywhere; or empty, if all of them may.
using FusedFunction = std::function<Tensors(const Tensors& inputs, const Tensors& into)>;

// Gives another tensor in place of one.
using Replacement = std::function<at::Tensor(const at::Tensor&)>;

struct ExecutorOptions {
    c10::Device device = c10::kCPU;  // of tensors that operators create
    // The function that runs the fused call with this id; empty if there is none.
    std::function<FusedFunction(const std::string& call)> fused = {};
    // Whether what is computed from weights alone is kept until torch counts a change of them.
    bool keeps_constants = false;
    // What replaces the floating results of a node, if it is not empty; nor has it to return one.
    std::function<Replacement(const graph::Node&)> replacing = {};
};

// Built once, run from any thread; runs share nothing but constants and what is kept of weights.
class GraphExecutor {
  public:
    // Finds every operator; an Error names the node, its source line and what is unknown.
    static Result<GraphExecutor> build(const graph::Graph& graph, const ExecutorOptions& options);

    // `inputs`: the graph's tensor inputs in order, including weights, without inputs that were
    // plain values when traced. Returns the tensors among the graph's results, then what is to be
    // written to buffers (graph::GraphOutput::mutates), each in the graph's order. Writes to none
    // of its inputs, but results may be inputs or views of them. Gradients are not recorded.
    Tensors run(const Tensors& inputs) const;
    // What was kept is computed again when it is next needed.
    void refresh() const;

  private:
    struct Plan;
    std::shared_ptr<const Plan> plan_;
};

}  // namespace fact::exec

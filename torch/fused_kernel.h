// One fused call of a graph: its compiled kernel on a GPU, the interpreter of its text on the CPU,
// the original subgraph where neither applies.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/kernel.h"
#include "graph/fused.h"
#include "ir/kernel.h"
#include "torch/executor.h"

namespace fact::exec {

// A kernel compiled for the GPU, or why there is none.
struct Compiled {
    std::optional<gpu::Kernel> kernel;
    std::string why_not;
    c10::DeviceIndex device = 0;  // where it was loaded
};

// Gives uninitialised scratch memory of these sizes on the device of the tensors.
using WorkspaceSource = std::function<at::Tensor(at::IntArrayRef sizes, c10::ScalarType dtype)>;

class FusedKernel {
  public:
    // An Error says what does not fit between the call and the kernel text.
    static Result<std::shared_ptr<FusedKernel>> make(graph::FusedCall call, ir::Kernel text,
                                                     Compiled compiled);
    ~FusedKernel();

    // The call's results, by the original subgraph where the kernel cannot serve the tensors (said
    // once on standard error). `inputs` are those of the original subgraph. Safe on any thread and
    // under CUDA-graph capture.
    Tensors run(const Tensors& inputs);

    // Runs the kernel (on CPU tensors: the interpreter) and nothing else; the Error says why it
    // cannot serve these tensors. A launch that fails throws. With a `workspace` of the caller's,
    // nothing prepared in earlier calls is used.
    Result<> run_kernel(const Tensors& inputs, const Tensors& outputs,
                        const WorkspaceSource& workspace = {});

    // The original subgraph.
    Tensors run_original(const Tensors& inputs);

    // Tensors for the results with the traced sizes and strides, uninitialised; an Error when the
    // inputs do not have the extents the call was traced with.
    Result<Tensors> allocate_outputs(const Tensors& inputs) const;

    const graph::FusedCall& call() const;

  private:
    struct State;
    explicit FusedKernel(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace fact::exec

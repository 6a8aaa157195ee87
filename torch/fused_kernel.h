// One fused call of a graph, run by its compiled kernel on a GPU, by the interpreter of its text on
// the CPU, or as the original subgraph if neither can run it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/fused.h"
#include "ir/kernel.h"
#include "torch/call_status.h"
#include "torch/device_kernels.h"
#include "torch/executor.h"

namespace fact::exec {

// A kernel compiled for a GPU, or why there is none.
struct Compiled {
    std::shared_ptr<DeviceKernels> kernel;
    std::string why_not = "there is no GPU";
};

// Allocates scratch memory of these sizes on the device of the call's tensors.
using WorkspaceSource = std::function<at::Tensor(at::IntArrayRef sizes, c10::ScalarType dtype)>;

class FusedKernel {
  public:
    // An Error says where the call and the kernel text do not fit together.
    static Result<std::shared_ptr<FusedKernel>> make(graph::FusedCall call, ir::Kernel text,
                                                     Compiled compiled);
    ~FusedKernel();

    // The call's results. If the kernel cannot take the tensors, the original subgraph runs, and
    // the user is warned once (fallback.h). If `strict`, falling back is an error, and so is a call
    // that the interpreter would run. `inputs` are those of the original subgraph. Safe on any
    // thread and under CUDA-graph capture. `into`: see FusedFunction; if the kernel cannot write to
    // it, results are elsewhere.
    Tensors run(const Tensors& inputs, bool strict = false, const Tensors& into = {});

    // Runs the kernel (on CPU tensors: the interpreter) and nothing else; the Error says why it
    // cannot take these tensors. A launch that fails throws. If the caller gives a `workspace`,
    // nothing that was prepared in earlier calls is used.
    Result<> run_kernel(const Tensors& inputs, const Tensors& outputs,
                        const WorkspaceSource& workspace = {});

    // The original subgraph.
    Tensors run_original(const Tensors& inputs);

    // Uninitialised tensors for the results, with the traced sizes and strides; an Error if the
    // inputs do not have the extents the call was traced with. Those that are `into` are not
    // allocated.
    Result<Tensors> allocate_outputs(const Tensors& inputs, const Tensors& into = {}) const;

    // Loads the kernel onto a GPU before it is called there.
    void load_on(c10::DeviceIndex device);

    // Everything that was prepared from weights is prepared again at the next call.
    void refresh();

    // May load the kernel if the device is a GPU.
    CallStatus status(c10::Device device);

    const graph::FusedCall& call() const;

  private:
    struct State;
    explicit FusedKernel(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace fact::exec

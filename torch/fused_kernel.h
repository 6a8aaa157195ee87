// One fused call of a graph: its compiled kernel on a GPU, the interpreter of its text on the CPU,
// the original subgraph where neither applies.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/fused.h"
#include "ir/kernel.h"
#include "torch/device_kernels.h"
#include "torch/executor.h"

namespace fact::exec {

// A kernel compiled for a GPU, or why there is none.
struct Compiled {
    std::shared_ptr<DeviceKernels> kernel;
    std::string why_not = "there is no GPU";
};

// What has become of a fused call so far.
struct CallStatus {
    std::string call, kernel;
    std::string cannot_run;  // why its kernel cannot run on the device that was asked for; or ""
    std::int64_t by_kernel = 0, by_interpreter = 0, by_torch = 0;  // calls
    std::string fell_back;  // why the last call did, where the last one did
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
    // once, see fallback.h; an error where `strict`, and so is the interpreter). `inputs` are those
    // of the original subgraph. Safe on any thread and under CUDA-graph capture.
    Tensors run(const Tensors& inputs, bool strict = false);

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

    // Loads the kernel onto a GPU before it is called there.
    void load_on(c10::DeviceIndex device);

    // Makes anew, at the next call, all that was made of weights.
    void refresh();

    // On a GPU this may load the kernel.
    CallStatus status(c10::Device device);

    const graph::FusedCall& call() const;

  private:
    struct State;
    explicit FusedKernel(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace fact::exec

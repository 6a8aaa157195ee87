// A kernel text and its compiled form, called on tensors as the text declares them: no graph, no
// tracing.
#pragma once

#include <filesystem>
#include <memory>

#include "gpu/kernel.h"
#include "ir/kernel.h"
#include "torch/executor.h"

namespace fact::exec {

class TextKernel {
  public:
    // A folder that `fact kernel build` wrote. The cubin is loaded onto a GPU by the first call
    // with tensors there, or before by load_on().
    static Result<std::shared_ptr<TextKernel>> open(const std::filesystem::path& folder);
    ~TextKernel();

    // SHA-256 over the files that a call depends on: text, record and cubin.
    const std::string& identity() const;
    // The same without opening it.
    static Result<std::string> identity_of(const std::filesystem::path& folder);

    // New tensors for the outputs. On the CPU the interpreter runs. Throws where the tensors do not
    // fit the text, or the kernel cannot serve them.
    Tensors run(const Tensors& params);

    // What run() would give for such tensors, as tensors without memory. Sizes may be symbolic;
    // a size becomes a number unless it is a whole dimension of some result.
    Tensors shapes(const Tensors& params) const;

    // A call that is captured into a CUDA graph cannot load the kernel.
    void load_on(c10::DeviceIndex device);

    // What the text declares, for messages: "linear(x: bf16[M, K], ...) -> (...)".
    const ir::Kernel& text() const;

  private:
    struct State;
    explicit TextKernel(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace fact::exec

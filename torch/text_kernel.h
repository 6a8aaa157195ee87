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
    // Opens a folder that `fact kernel build` wrote. The cubin is loaded onto a GPU by the first
    // call with tensors there, or by load_on().
    static Result<std::shared_ptr<TextKernel>> open(const std::filesystem::path& folder);
    ~TextKernel();

    // SHA-256 over the files that a call depends on: text, record and cubin.
    const std::string& identity() const;
    // The same without opening it.
    static Result<std::string> identity_of(const std::filesystem::path& folder);

    // Returns new tensors. On the CPU the interpreter runs. Throws if the tensors do not fit the
    // text, or the kernel cannot take them.
    Tensors run(const Tensors& params);

    // What run() would return for these tensors, as tensors without memory. Sizes may be symbolic;
    // they become numbers unless every dimension of the outputs is one of the parameters'.
    Tensors shapes(const Tensors& params) const;

    // To be called before a call is captured into a CUDA graph, which cannot load the kernel.
    void load_on(c10::DeviceIndex device);

    // The checked form of the text.
    const ir::Kernel& text() const;

  private:
    struct State;
    explicit TextKernel(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace fact::exec

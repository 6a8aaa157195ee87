// Compiles, loads and times calibration's kernels on the GPU.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "calibrate/clock.h"
#include "calibrate/probes.h"
#include "calibrate/products.h"
#include "gpu/kernel.h"
#include "gpu/memory.h"

namespace fact::calibrate {

// A loaded kernel with the memory it works on.
struct Loaded {
    gpu::Kernel kernel;
    std::vector<gpu::DeviceMemory> memory;
    std::vector<gpu::TensorArg> tensors;

    // Skips the launches that `prepared` names, as gpu::Kernel::launch does.
    Result<> launch(std::span<const std::vector<int>> prepared = {}) const {
        return kernel.launch(tensors, prepared, nullptr);
    }
    // The first bytes of a tensor, after everything launched so far has run.
    Result<std::string> read(std::size_t tensor, std::size_t bytes) const;
};

class Bench {
  public:
    Bench(std::string arch, const Options& options) : arch_(std::move(arch)), options_(options) {}
    Bench(const Bench&) = delete;

    // Compiles everything and loads the kernel that spins to keep the GPU busy while work is
    // queued.
    Result<> prepare(const std::vector<ProductProbe>& products);

    // Loads a probe and allocates its tensors, but does not initialise them.
    Result<Loaded> load(ProbeKind kind, std::int64_t elements) const;
    // Fills the operands with random numbers, allocates the workspaces and launches the kernel once
    // to warm it up and to fill the workspaces.
    Result<Loaded> load(const ProductProbe& probe, const ProductKernel& kernel) const;
    // Fills the tensor with random numbers.
    Result<> fill(const gpu::TensorArg& tensor) const;

    // A clock that first lets the GPU spin while the host queues the work; `extra_hold_us` is added
    // to the spin.
    Clock clock(double extra_hold_us = 0) const;

  private:
    Result<> hold(double us) const;  // lets the GPU spin

    std::string arch_;
    const Options& options_;
    std::map<std::string, std::string> cubins_;  // by file, or by product and schedule
    std::optional<Loaded> hold_kernel_;
};

}  // namespace fact::calibrate

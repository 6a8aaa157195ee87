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

    // Compiles everything and prepares the kernel that holds the GPU.
    Result<> prepare(const std::vector<ProductProbe>& products);

    // With memory of its own, uninitialised.
    Result<Loaded> load(ProbeKind kind, std::int64_t elements) const;
    // With random operands and with workspaces, launched once.
    Result<Loaded> load(const ProductProbe& probe, const ProductKernel& kernel) const;
    Result<> fill(const gpu::TensorArg& tensor) const;

    // A clock that keeps the queue full by holding the GPU first, `more_us` longer than usual.
    Clock clock(double more_us = 0) const;

  private:
    Result<> hold(double us) const;

    std::string arch_;
    const Options& options_;
    std::map<std::string, std::string> cubins_;  // by file, or by product and schedule
    std::optional<Loaded> hold_;
};

}  // namespace fact::calibrate

// A compiled kernel on every GPU it is used on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "gpu/kernel.h"
#include "torch/by_device.h"

namespace fact::exec {

class DeviceKernels {
  public:
    // Code and record are read now, so that later changes of the files have no effect. The kernel
    // is loaded onto a GPU when it is first used there, for the life of the process.
    static Result<std::shared_ptr<DeviceKernels>> read(const std::filesystem::path& cubin,
                                                       const std::filesystem::path& record);
    // A kernel that is on this GPU alone.
    static std::shared_ptr<DeviceKernels> only(gpu::Kernel kernel, c10::DeviceIndex device);

    const LaunchRecord& record() const { return record_; }
    // Identifies code and record; the same on every GPU.
    const std::string& identity() const { return identity_; }

    // The kernel on this GPU, or why it cannot be there. Nothing is loaded while torch's current
    // stream is being captured into a CUDA graph: then a kernel that is not loaded yet is an Error.
    Result<gpu::Kernel> on(c10::DeviceIndex device);

  private:
    DeviceKernels(LaunchRecord record, std::string identity, ByDevice<gpu::Kernel>::Make make)
        : record_(std::move(record)), identity_(std::move(identity)), kernels_(std::move(make)) {}

    LaunchRecord record_;
    std::string identity_;
    ByDevice<gpu::Kernel> kernels_;
};

}  // namespace fact::exec

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
    // Code and record are read now, so that what is loaded later is the same; they are loaded onto
    // a GPU where it is first used, for the life of the process.
    static Result<std::shared_ptr<DeviceKernels>> read(const std::filesystem::path& cubin,
                                                       const std::filesystem::path& record);
    // One that is on this GPU and no other.
    static std::shared_ptr<DeviceKernels> only(gpu::Kernel kernel, c10::DeviceIndex device);

    const LaunchRecord& record() const { return record_; }
    // Of code and record, the same on every GPU.
    const std::string& identity() const { return identity_; }

    // The kernel on this GPU, or why it cannot be there. Nothing is loaded while torch's current
    // stream is captured into a CUDA graph: then it is an Error until it was loaded otherwise.
    Result<gpu::Kernel> on(c10::DeviceIndex device);

  private:
    DeviceKernels(LaunchRecord record, std::string identity, ByDevice<gpu::Kernel>::Make make)
        : record_(std::move(record)), identity_(std::move(identity)), kernels_(std::move(make)) {}

    LaunchRecord record_;
    std::string identity_;
    ByDevice<gpu::Kernel> kernels_;
};

}  // namespace fact::exec

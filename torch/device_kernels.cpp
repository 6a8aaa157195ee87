#include "torch/device_kernels.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "support/files.h"
#include "torch/stream.h"

namespace fact::exec {

Result<std::shared_ptr<DeviceKernels>> DeviceKernels::read(const std::filesystem::path& cubin,
                                                           const std::filesystem::path& record) {
    auto code = read_file(cubin);
    if (!code) return code.error();
    const auto text = read_file(record);
    if (!text) return text.error();
    auto parsed = launch_record_from_json(*text);
    if (!parsed) return parsed.error();
    auto identity = gpu::Kernel::identity_of(*code, *parsed);
    const auto make = [code = std::move(*code), record = *parsed](c10::DeviceIndex device) {
        // Makes torch set up the primary context the kernel is loaded into.
        at::empty({1}, at::TensorOptions(c10::kFloat).device(c10::Device(c10::kCUDA, device)));
        return gpu::Kernel::load_for_good(code, record, device);
    };
    return std::shared_ptr<DeviceKernels>(
        new DeviceKernels(std::move(*parsed), std::move(identity), make));
}

std::shared_ptr<DeviceKernels> DeviceKernels::only(gpu::Kernel kernel, c10::DeviceIndex device) {
    auto record = kernel.record();
    auto identity = kernel.identity();
    const auto make = [kernel = std::move(kernel),
                       device](c10::DeviceIndex asked) -> Result<gpu::Kernel> {
        if (asked == device) return kernel;
        return Error{fmt::format("the kernel was loaded on GPU {}, the tensors are on GPU {}",
                                 static_cast<int>(device), static_cast<int>(asked)),
                     {}};
    };
    return std::shared_ptr<DeviceKernels>(
        new DeviceKernels(std::move(record), std::move(identity), make));
}

Result<gpu::Kernel> DeviceKernels::on(c10::DeviceIndex device) {
    if (auto made = kernels_.if_made(device)) return *std::move(made);
    if (!cuda_available()) return Error{"there is no GPU", {}};
    if (is_capturing(current_cuda_stream(device)))
        return Error{
            fmt::format("the kernel is not on GPU {} yet, and nothing is loaded while a CUDA "
                        "graph is captured: call it once before the capture",
                        static_cast<int>(device)),
            {}};
    return kernels_.on(device);
}

}  // namespace fact::exec

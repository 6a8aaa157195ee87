#include "tools/workspace.h"

namespace fact::tools {

std::vector<double> workspace_bytes(const LaunchRecord& record, const ir::Kernel& kernel,
                                    const Extents& extents) {
    std::vector<const ir::Tensor*> tensors;
    for (const ir::Tensor& param : kernel.params) tensors.push_back(&param);
    for (const ir::Output& output : kernel.outputs) tensors.push_back(&output.tensor);
    const auto extent = [&](const DimOf& at) {
        const ir::Tensor& tensor = *tensors.at(static_cast<std::size_t>(at.tensor));
        return static_cast<double>(
            at.of(extents[tensor.type.dims.at(static_cast<std::size_t>(at.dim))]));
    };
    std::vector<double> all;
    for (const Workspace& workspace : record.workspaces) {
        double bytes = static_cast<double>(info(workspace.dtype).bytes) * workspace.copies;
        for (const ExtentField& size : workspace.sizes) {
            bytes *= static_cast<double>(size.factor) / size.divisor;
            for (const DimOf& dim : size.dims) bytes *= extent(dim);
            for (const DimOf& dim : size.divisor_dims) bytes /= extent(dim);
        }
        all.push_back(bytes);
    }
    return all;
}

}  // namespace fact::tools

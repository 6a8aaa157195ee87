#include "lower/pipeline/checks.h"

#include <fmt/format.h>

#include "target/launch_record.h"

namespace fact::lower {

void verify(std::string_view pass, const ir::Kernel& kernel) {
    if (std::string problem = ir::verify(kernel); !problem.empty())
        throw InternalError(fmt::format("kernel {} after pass {}: {}", kernel.name, pass, problem));
}

void verify_stage(ir::Kernel stage) {
    for (const ir::Output& output : stage.outputs)
        stage.params.push_back({output.tensor.name + " in memory", output.tensor.type, {}});
    verify("cut", stage);
}

Result<> check_extents(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents) {
    const auto check = [&](const ir::Tensor& tensor) -> Result<> {
        for (const ir::DimId dim : tensor.type.dims)
            if (const std::size_t d = ir::index(dim); d < extents.size() && extents[d] > kMaxCount)
                return Error{
                    fmt::format("kernel {}: {} has {} elements along {}, more than kernels count "
                                "to ({})",
                                kernel.name, tensor.name, extents[d], kernel[dim].name, kMaxCount),
                    "Split the dimension, or leave it to PyTorch."};
        return Ok{};
    };
    for (const ir::Tensor& param : kernel.params)
        if (auto done = check(param); !done) return done;
    for (const ir::Output& output : kernel.outputs)
        if (auto done = check(output.tensor); !done) return done;
    return Ok{};
}

}  // namespace fact::lower

#include "values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/interpreter.h"
#include "support/result.h"

namespace fact::differential {

std::vector<std::int64_t> sizes_of(const Program& program, const ir::Type& type) {
    std::vector<std::int64_t> sizes;
    for (const ir::DimId dim : type.dims) sizes.push_back(program.extents[ir::index(dim)]);
    return sizes;
}

std::vector<double> widened(tools::HostTensor tensor) {
    if (tensor.dtype != DType::f64) {
        ir::Kernel copy;
        copy.name = "copy";
        ir::Type type{tensor.dtype, {}};
        for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
            type.dims.push_back(copy.dim(fmt::format("D{}", i)));
        copy.params.push_back({"x", type, {}});
        copy.outputs.push_back({{"y", type, {}}, ir::Builder(copy).param(0)});
        auto wide = tools::empty_tensor(DType::f64, tensor.sizes);
        const ir::TensorView in = tensor.view(), out = wide.view();
        if (auto done = ir::interpret(copy, {&in, 1}, {&out, 1}); !done)
            throw InternalError(done.error().text());
        tensor = std::move(wide);
    }
    std::vector<double> values(static_cast<std::size_t>(tensor.count()));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
}

bool rounds_to_tf32(const Program& program) {
    return std::ranges::any_of(program.kernel.exprs, [](const ir::Expr& expr) {
        const auto* product = std::get_if<ir::Product>(&expr.node);
        return product && product->precision == ir::Precision::tf32;
    });
}

Run interpreted(const Program& program, std::uint32_t seed) {
    Run run;
    std::vector<ir::TensorView> in, out;
    for (const ir::Tensor& param : program.kernel.params)
        run.inputs.push_back(tools::random_tensor(param.type.dtype, sizes_of(program, param.type),
                                                  seed, param.name));
    for (const ir::Output& output : program.kernel.outputs)
        run.outputs.push_back(
            tools::empty_tensor(DType::f64, sizes_of(program, output.tensor.type)));
    for (auto& tensor : run.inputs) in.push_back(tensor.view());
    for (auto& tensor : run.outputs) out.push_back(tensor.view());
    if (auto done = ir::interpret(program.kernel, in, out); !done)
        throw InternalError(done.error().text());
    return run;
}

}  // namespace fact::differential

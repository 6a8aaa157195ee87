// verify(), which ir/kernel.h declares.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/extents.h"
#include "ir/kernel.h"
#include "ir/typing.h"

namespace fact::ir {
namespace {

std::string verify_dims(const Kernel& kernel) {
    std::set<std::string> names;
    for (const Dim& dim : kernel.dims) {
        if (!names.insert(dim.name).second)
            return fmt::format("dimension '{}' is declared twice", dim.name);
        if (dim.extent && *dim.extent < 1)
            return fmt::format("dimension '{}' has no elements", dim.name);
        for (const DimId factor : dim.factors)
            if (index(factor) >= kernel.dims.size() || !kernel[factor].factors.empty())
                return fmt::format("dimension '{}' has an unknown or factored factor", dim.name);
    }
    for (const Dim& dim : kernel.dims)
        if (const auto& rule = dim.window; rule && (index(rule->of) >= kernel.dims.size() ||
                                                    index(rule->taps) >= kernel.dims.size() ||
                                                    rule->stride < 1 || rule->dilation < 1))
            return fmt::format("dimension '{}' has windows that do not exist", dim.name);
    for (const Multiple& rule : kernel.multiples)
        if (index(rule.dim) >= kernel.dims.size() || rule.of < 1)
            return "a rule for an extent has an unknown dimension or a divisor below 1";
    return "";
}

std::string verify_tensor(const Kernel& kernel, const Tensor& tensor) {
    if (tensor.type.dtype == DType::f64)
        return fmt::format("tensor '{}' is f64, which kernels do not compute in", tensor.name);
    std::set<DimId> seen;
    for (const DimId dim : tensor.type.dims) {
        if (index(dim) >= kernel.dims.size())
            return fmt::format("tensor '{}' has an unknown dimension", tensor.name);
        if (!seen.insert(dim).second)
            return fmt::format("tensor '{}' repeats dimension '{}'", tensor.name, kernel[dim].name);
    }
    return "";
}

// Every extent must be known from the parameters, or outputs could not be allocated.
std::string verify_extents(const Kernel& kernel) {
    std::vector<bool> declared(kernel.dims.size());
    for (const Tensor& param : kernel.params)
        for (const DimId dim : param.type.dims) declared[index(dim)] = true;
    const auto known = known_dims(kernel, std::move(declared));
    const auto unknown = [&](DimId dim) { return !known[index(dim)]; };
    for (const Output& output : kernel.outputs)
        for (const DimId dim : output.tensor.type.dims)
            if (unknown(dim))
                return fmt::format("no parameter has dimension '{}' of output '{}'",
                                   kernel[dim].name, output.tensor.name);
    for (const Expr& expr : kernel.exprs)
        for (const DimId dim : expr.type.dims)
            if (unknown(dim))
                return fmt::format("no parameter determines the extent of dimension '{}'",
                                   kernel[dim].name);
    std::string problem;
    for (const Expr& expr : kernel.exprs)
        for_each_dim(expr.node, [&](DimId dim) {
            if (problem.empty() && unknown(dim))
                problem = fmt::format("no parameter determines the extent of dimension '{}'",
                                      kernel[dim].name);
        });
    return problem;
}

std::string verify_exprs(const Kernel& kernel) {
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const Expr& expr = kernel.exprs[i];
        bool ordered = true;
        for_each_operand(expr.node, [&](ExprId id) { ordered &= index(id) < i; });
        if (!ordered) return fmt::format("expression {} precedes one of its operands", i);
        const auto typing = type_of(kernel, expr.node, expr.type);
        if (const auto* error = std::get_if<TypeError>(&typing))
            return fmt::format("expression {}: {}", i, error->message);
        if (std::get<Type>(typing) != expr.type)
            return fmt::format("expression {} has another type than its operands give", i);
    }
    return "";
}

std::string verify_output(const Kernel& kernel, const Output& output) {
    const std::string& name = output.tensor.name;
    if (index(output.value) >= kernel.exprs.size())
        return fmt::format("output '{}' has no value", name);
    const Type& value = kernel[output.value].type;
    if (value.dims != output.tensor.type.dims)
        return fmt::format("output '{}' has dimensions {} but its value has {}", name,
                           to_string(kernel, output.tensor.type.dims),
                           to_string(kernel, value.dims));
    if (!stores_as(value.dtype, output.tensor.type.dtype))
        return fmt::format("output '{}' is {} but its value is {}", name,
                           info(output.tensor.type.dtype).name, info(value.dtype).name);
    return "";
}

}  // namespace

std::string verify(const Kernel& kernel) {
    if (kernel.outputs.empty()) return "the kernel has no output";
    if (auto problem = verify_dims(kernel); !problem.empty()) return problem;
    std::set<std::string> names;
    for (const Tensor& tensor : kernel.params) {
        if (auto problem = verify_tensor(kernel, tensor); !problem.empty()) return problem;
        if (!names.insert(tensor.name).second)
            return fmt::format("two tensors are called '{}'", tensor.name);
    }
    if (auto problem = verify_exprs(kernel); !problem.empty()) return problem;
    for (const Output& output : kernel.outputs) {
        if (auto problem = verify_tensor(kernel, output.tensor); !problem.empty()) return problem;
        if (!names.insert(output.tensor.name).second)
            return fmt::format("two tensors are called '{}'", output.tensor.name);
        if (auto problem = verify_output(kernel, output); !problem.empty()) return problem;
    }
    return verify_extents(kernel);
}

}  // namespace fact::ir

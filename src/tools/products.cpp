#include "tools/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sol/work.h"

namespace fact::tools {

std::vector<ProductDims> products_of(const ir::Kernel& kernel) {
    std::vector<ProductDims> products;
    const auto live = ir::reachable(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const auto* product = std::get_if<ir::Product>(&kernel.exprs[i].node);
        if (!product || !live[i]) continue;
        const auto& dims = kernel.exprs[i].type.dims;
        const ir::Type& a = kernel[product->a].type;
        products.push_back({static_cast<ir::ExprId>(i),
                            dims.end()[-2],
                            dims.back(),
                            a.dims.back(),
                            {dims.begin(), dims.end() - 2},
                            a.dtype,
                            product->precision});
    }
    return products;
}

double flops_of(const ProductDims& product, const Extents& extents) {
    return 2 * num_elements(extents, {product.m, product.n, product.k}) *
           num_elements(extents, product.batch);
}

sol::Unit unit_of(const ProductDims& product) {
    return sol::kernel_unit(product.operands, product.precision == ir::Precision::tf32);
}

double flops_of(const ir::Kernel& kernel, const ir::Attention& attention, const Extents& extents) {
    const auto& q = kernel[attention.q].type.dims;
    const auto& v = kernel[attention.v].type.dims;
    const auto rows = static_cast<double>(extents[q.end()[-2]]);
    const auto columns = static_cast<double>(extents[v.end()[-2]]);
    const double scores = sol::seen_scores(rows, columns, attention.causal, attention.window);
    const auto depth = static_cast<double>(extents[q.back()] + extents[v.back()]);
    return 2 * num_elements(extents, {q.begin(), q.end() - 2}) * scores * depth;
}

std::vector<sol::Work> arithmetic_of(const ir::Kernel& kernel, const Extents& extents) {
    std::vector<sol::Work> work;
    for (const ProductDims& product : products_of(kernel))
        work.push_back({flops_of(product, extents), 0, unit_of(product)});
    const auto live = ir::reachable(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i)
        if (const auto* node = std::get_if<ir::Attention>(&kernel.exprs[i].node); node && live[i])
            work.push_back({flops_of(kernel, *node, extents), 0,
                            sol::kernel_unit(kernel[node->q].type.dtype,
                                             node->precision == ir::Precision::tf32)});
    return work;
}

double bytes_of(const ir::Tensor& tensor, const Extents& extents) {
    return info(tensor.type.dtype).bytes * num_elements(extents, tensor.type.dims);
}

Traffic least_traffic(const ir::Kernel& kernel, const Extents& extents) {
    Traffic traffic;
    const auto live = ir::reachable(kernel);
    std::set<std::uint32_t> read;  // a parameter may be named by several expressions
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i)
        if (const auto* param = std::get_if<ir::Param>(&kernel.exprs[i].node); param && live[i])
            if (read.insert(param->index).second)
                traffic.read += bytes_of(kernel.params[param->index], extents);
    for (const ir::Output& output : kernel.outputs)
        traffic.written += bytes_of(output.tensor, extents);
    return traffic;
}

sol::Bound least_time(const ir::Kernel& kernel, const Extents& extents, const GpuSpec& gpu) {
    const Traffic traffic = least_traffic(kernel, extents);
    sol::Bound least = sol::kernel_bound({0, traffic.read + traffic.written, {}}, gpu), arithmetic;
    for (const sol::Work& work : arithmetic_of(kernel, extents)) {
        const sol::Bound bound = sol::bound(work, gpu);
        arithmetic.hard_us += bound.hard_us;
        arithmetic.calibrated_us += bound.calibrated_us;
    }
    return {std::max(least.hard_us, arithmetic.hard_us),
            std::max(least.calibrated_us, arithmetic.calibrated_us)};
}

std::string bytes_text(double bytes) {
    if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes * 1e-9);
    if (bytes >= 1e6) return fmt::format("{:.3g} MB", bytes * 1e-6);
    if (bytes >= 1e3) return fmt::format("{:.3g} kB", bytes * 1e-3);
    return fmt::format("{:.0f} B", bytes);
}

}  // namespace fact::tools

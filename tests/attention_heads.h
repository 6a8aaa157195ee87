// Kernels that are one attention, for tests of its skeletons.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ir/kernel.h"

namespace fact {

// q, k and v as views of a packed projection: [B, T, H, D], heads shared by k and v where asked.
struct Heads {
    ir::Kernel kernel;
    std::vector<std::int64_t> extents;

    Heads() = default;
    explicit Heads(DType dtype, bool grouped = false, std::int64_t depth = 96,
                   bool masked = false) {
        kernel.name = "attend";
        const ir::DimId b = kernel.dim("B"), h = kernel.dim("H"), m = kernel.dim("M");
        const ir::DimId n = kernel.dim("N"), d = kernel.dim("D"), e = kernel.dim("E");
        extents = {2, 8, 512, 512, depth, 96};
        ir::Builder build(kernel);
        const auto param = [&](const char* name, std::vector<ir::DimId> memory,
                               std::vector<ir::DimId> order) {
            kernel.params.push_back({name, {dtype, std::move(memory)}, {}});
            const auto index = static_cast<std::uint32_t>(kernel.params.size() - 1);
            return build.permute(build.param(index), std::move(order));
        };
        ir::Attention node;
        node.q = param("q", {b, m, h, d}, {b, h, m, d});
        if (grouped) {
            node.k = param("k", {b, n, d}, {b, n, d});
            node.v = param("v", {b, n, e}, {b, n, e});
        } else {
            node.k = param("k", {b, n, h, d}, {b, h, n, d});
            node.v = param("v", {b, n, h, e}, {b, h, n, e});
        }
        node.causal = !masked;
        node.scale = 0.125;
        if (masked) {  // keys that nobody sees
            kernel.params.push_back({"seen", {DType::boolean, {b, n}}, {}});
            const ir::ExprId seen =
                build.param(static_cast<std::uint32_t>(kernel.params.size() - 1));
            const ir::ExprId zero = build.literal(0.0);
            const ir::ExprId none = build.literal(-std::numeric_limits<double>::infinity());
            node.bias = build.select(seen, zero, none);
            node.empty_rows_are_zero = true;
        }
        const ir::ExprId y = build.attention(node);
        kernel.outputs.push_back({{"y", {dtype, kernel[y].type.dims}, {}}, y});
    }
    // The logarithms of its sums as a second output.
    void add_log_sums() {
        const auto sums = ir::Builder(kernel).log_sum_exp(kernel.outputs.front().value);
        kernel.outputs.push_back({{"sums", kernel[sums].type, {}}, sums});
    }
    void allow_tf32() { attention().precision = ir::Precision::tf32; }
    ir::Attention& attention() {
        for (ir::Expr& expr : kernel.exprs)
            if (auto* node = std::get_if<ir::Attention>(&expr.node)) return *node;
        throw InternalError("no attention");
    }
};

// q and the output have one dimension where k and v have a part of it.
inline Heads heads_sharing_keys() {
    Heads heads;
    ir::Kernel& kernel = heads.kernel;
    kernel.name = "shared";
    const ir::DimId b = kernel.dim("B"), g = kernel.dim("G"), r = kernel.dim("4");
    const ir::DimId m = kernel.dim("M"), n = kernel.dim("N"), d = kernel.dim("D");
    const ir::DimId h = kernel.factored_dim({g, r});
    heads.extents.resize(kernel.dims.size());
    for (const auto& [dim, extent] :
         {std::pair{b, 2}, {g, 8}, {r, 4}, {m, 512}, {n, 512}, {d, 64}, {h, 32}})
        heads.extents[ir::index(dim)] = extent;
    ir::Builder build(kernel);
    kernel.params = {{"q", {DType::bf16, {b, m, h, d}}, {}},
                     {"k", {DType::bf16, {b, n, g, d}}, {}},
                     {"v", {DType::bf16, {b, n, g, d}}, {}}};
    ir::Attention node;
    node.q = build.permute(build.view(build.param(0), {b, m, g, r, d}), {b, g, r, m, d});
    node.k = build.permute(build.param(1), {b, g, n, d});
    node.v = build.permute(build.param(2), {b, g, n, d});
    node.scale = 0.125;
    const ir::ExprId apart = build.permute(build.attention(node), {b, m, g, r, d});
    const ir::ExprId y = build.view(apart, {b, m, h, d});
    kernel.outputs.push_back({{"y", {DType::bf16, {b, m, h, d}}, {}}, y});
    return heads;
}

}  // namespace fact

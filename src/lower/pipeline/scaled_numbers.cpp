#include "lower/pipeline/scaled_numbers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "ir/extents.h"
#include "lower/pipeline/uses.h"
#include "lower/product/rewritten.h"
#include "lower/product/window_operand.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;

// Numbers are scaled to less than 2^15: f16 ends at 65504.
constexpr double kLargest = 14;
constexpr double kLeast = 1e-30;  // of what is divided by: images of zeros stay zeros

std::int64_t lines(std::int64_t channels, std::int64_t bytes) {
    return (channels * bytes + kLineBytes - 1) / kLineBytes;
}

// Fewer products take less time than finding the largest numbers, in launches of their own.
constexpr double kLeastProducts = 5e9;

bool is_large(const ir::Kernel& kernel, const ir::Product& product,
              const std::vector<std::int64_t>& extents) {
    const auto& a = kernel[product.a].type.dims;
    double products = 1;
    auto dims = kernel[product.b].type.dims;
    dims.push_back(a[a.size() - 2]);
    for (const DimId dim : dims) {
        const auto extent = ir::known_extent(kernel, dim, extents);
        if (!extent) return false;
        products *= static_cast<double>(*extent);
    }
    return products >= kLeastProducts;
}

// The dimension of the images that the windows look at, if there is one, and channels enough.
std::optional<DimId> scaled_images(const ir::Kernel& kernel, const ir::Window& window,
                                   const std::vector<std::int64_t>& extents) {
    const ir::Type& type = kernel[window.x].type;
    const auto order = channels_last(kernel, window);
    if (!order || type.dtype != DType::f32 || window.outside != 0 ||
        order->size() != window.places.size() + 2)
        return std::nullopt;
    const auto channels = ir::known_extent(kernel, order->back(), extents);
    constexpr std::int64_t kHalf = 2, kAccess = 16;  // bytes
    const bool saves = channels && lines(*channels, kHalf) < lines(*channels, 4);
    if (!saves || *channels * kHalf % kAccess != 0) return std::nullopt;
    return order->front();
}

// What the numbers of each row of x[rows, over...] are divided by: a power of two, stored.
ExprId divisors_of(ir::Kernel& to, ir::Builder& build, ExprId x, const std::vector<DimId>& over) {
    const ExprId most = build.reduce(ir::ReduceOp::max, build.unary(ir::UnaryOp::abs, x), over);
    const ExprId some = build.binary(ir::BinaryOp::max, most, build.literal(kLeast));
    const ExprId exponent = build.binary(ir::BinaryOp::mul, build.unary(ir::UnaryOp::log, some),
                                         build.literal(1 / std::log(2.0)));
    const ExprId steps = build.unary(
        ir::UnaryOp::ceil, build.binary(ir::BinaryOp::sub, exponent, build.literal(kLargest)));
    const ExprId divisors = build.binary(ir::BinaryOp::pow, build.literal(2), steps);
    to.exprs[ir::index(divisors)].stored = true;
    return divisors;
}

ExprId divided(ir::Builder& build, ExprId x, ExprId divisors) {
    const ExprId factors = build.unary(ir::UnaryOp::reciprocal, divisors);
    return build.cast(DType::f16, build.binary(ir::BinaryOp::mul, x, factors));
}

std::vector<DimId> without(std::vector<DimId> dims, DimId dim) {
    std::erase(dims, dim);
    return dims;
}

// Products in TF32 over windows that nothing else reads.
struct Found {
    std::map<ExprId, DimId> windows;    // with the dimension of their images
    std::map<ExprId, ExprId> products;  // with the windows that are their second operand
    std::set<ExprId> between;           // a window and its product: views, with its numbers
};

Found scaled_products(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents) {
    Found found;
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const auto* product = std::get_if<ir::Product>(&kernel.exprs[i].node);
        if (!product || product->precision != ir::Precision::tf32) continue;
        const auto behind = window_behind(kernel, product->b);
        if (!behind) continue;
        const auto image =
            scaled_images(kernel, std::get<ir::Window>(kernel[*behind].node), extents);
        // Each image is a product of its own, with one factor for all of its results.
        const auto& dims = kernel[product->b].type.dims;
        if (!image || dims.size() != 3 || dims.front() != *image) continue;
        if (!is_large(kernel, *product, extents)) continue;
        std::set<ExprId> between;
        bool alone = true;
        for (ExprId at = product->b;;) {
            alone = alone && users_of(kernel, at).size() == 1;
            if (at == *behind) break;
            between.insert(at);
            ir::for_each_operand(kernel[at].node, [&](ExprId x) { at = x; });
        }
        if (!alone) continue;
        found.between.merge(between);
        found.windows.emplace(*behind, *image);
        found.products.emplace(static_cast<ExprId>(i), *behind);
    }
    return found;
}

}  // namespace

ir::Kernel with_scaled_numbers(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents) {
    const Found found = scaled_products(kernel, extents);
    if (found.products.empty()) return kernel;

    std::map<ExprId, ExprId> image_divisors;
    return rewritten(kernel, [&](ir::Kernel& to, ir::Builder& build, std::size_t i, ir::Expr expr) {
        const auto id = static_cast<ExprId>(i);
        if (const auto image = found.windows.find(id); image != found.windows.end()) {
            const auto& window = std::get<ir::Window>(expr.node);
            const ExprId divisors =
                divisors_of(to, build, window.x, without(to[window.x].type.dims, image->second));
            const ExprId images = divided(build, window.x, divisors);
            to.exprs[ir::index(images)].stored = true;
            image_divisors[id] = divisors;
            return build.window(images, window.places);
        }
        if (const auto behind = found.products.find(id); behind != found.products.end()) {
            const auto& product = std::get<ir::Product>(expr.node);
            const ExprId divisors =
                divisors_of(to, build, product.a, {to[product.a].type.dims.back()});
            const ExprId sums = build.product(divided(build, product.a, divisors), product.b);
            const ExprId of_image = image_divisors.at(behind->second);
            return build.binary(ir::BinaryOp::mul, build.binary(ir::BinaryOp::mul, sums, of_image),
                                divisors);
        }
        if (found.between.contains(id)) expr.type.dtype = DType::f16;
        return to.add(std::move(expr));
    });
}

}  // namespace fact::lower

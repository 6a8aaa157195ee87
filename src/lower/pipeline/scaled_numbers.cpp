#include "lower/pipeline/scaled_numbers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/pipeline/magnitudes.h"
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

ExprId divided(ir::Builder& build, ExprId x, ExprId divisors) {
    const ExprId factors = build.unary(ir::UnaryOp::reciprocal, divisors);
    return build.cast(DType::f16, build.binary(ir::BinaryOp::mul, x, factors));
}

std::vector<DimId> without(std::vector<DimId> dims, DimId dim) {
    std::erase(dims, dim);
    return dims;
}

// A product in TF32 over windows that nothing else reads.
struct Scaled {
    ExprId windows{};
    Side side{};    // of the windows
    DimId image{};  // the dimension of their images
    DimId channel{};
    bool bounded = false;  // whether the largest number of each channel is known beforehand
};

struct Found {
    std::map<ExprId, Scaled> products;
    std::map<ExprId, Scaled> windows;  // the same by their windows
    std::set<ExprId> between;          // a window and its product: views, with its numbers
};

// Whether the largest number of each channel follows from other values than the images'.
bool is_bounded(const ir::Kernel& kernel, ExprId images, DimId channel) {
    ir::Kernel scratch = kernel;
    const auto known = largest_magnitude(scratch, images, channel);
    return known && !scratch[*known].type.dims.empty();
}

std::optional<Scaled> scaled(const ir::Kernel& kernel, const ir::Product& product, Side side,
                             const std::vector<std::int64_t>& extents) {
    const ExprId operand = side == Side::first ? product.a : product.b;
    const auto behind = window_behind(kernel, operand);
    if (!behind) return std::nullopt;
    const auto& window = std::get<ir::Window>(kernel[*behind].node);
    const auto image = scaled_images(kernel, window, extents);
    if (!image) return std::nullopt;
    Scaled found{*behind, side, *image, channels_last(kernel, window)->back()};
    const auto& weights = kernel[side == Side::first ? product.b : product.a].type.dims;
    const DimId k = side == Side::first ? weights.front() : weights.back();
    found.bounded = weights.size() == 2 && ir::contains(kernel.factors({k}), found.channel) &&
                    is_bounded(kernel, window.x, found.channel);
    if (!found.bounded && !is_large(kernel, product, extents)) return std::nullopt;
    // Each image is a product of its own, with one factor for all of its results; those of channels
    // are multiplied into the weights.
    const auto& dims = kernel[operand].type.dims;
    const bool apart = side == Side::second && dims.size() == 3 && dims.front() == *image;
    if (!apart && !(found.bounded && dims.size() == 2)) return std::nullopt;
    return found;
}

Found scaled_products(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents) {
    Found found;
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const auto* product = std::get_if<ir::Product>(&kernel.exprs[i].node);
        if (!product || product->precision != ir::Precision::tf32) continue;
        auto one = scaled(kernel, *product, Side::second, extents);
        if (!one) one = scaled(kernel, *product, Side::first, extents);
        if (!one) continue;
        std::set<ExprId> between;
        bool alone = true;
        for (ExprId at = one->side == Side::first ? product->a : product->b;;) {
            alone = alone && users_of(kernel, at).size() == 1;
            if (at == one->windows) break;
            between.insert(at);
            ir::for_each_operand(kernel[at].node, [&](ExprId x) { at = x; });
        }
        if (!alone) continue;
        found.between.merge(between);
        found.windows.emplace(one->windows, *one);
        found.products.emplace(static_cast<ExprId>(i), *one);
    }
    return found;
}

class Scaler {
  public:
    // `divisors` are those of images, by their windows.
    Scaler(ir::Kernel& to, ir::Builder& build, std::map<ExprId, ExprId>& divisors)
        : to_(to), build_(build), of_images_(divisors) {}

    // The windows of images that are divided: each as a whole, or each channel of all of them.
    ExprId windows(const ir::Window& window, const Scaled& scaled) {
        const ExprId divisors =
            scaled.bounded
                ? divisors_of(*largest_magnitude(to_, window.x, scaled.channel))
                : divisors_of(largest(window.x, without(to_[window.x].type.dims, scaled.image)));
        of_images_[scaled.windows] = divisors;
        const ExprId images = divided(build_, window.x, divisors);
        to_.exprs[ir::index(images)].stored = true;
        return build_.window(images, window.places);
    }

    ExprId product(const ir::Product& product, const Scaled& scaled) {
        const bool is_second = scaled.side == Side::second;
        const ExprId of_images = of_images_.at(scaled.windows);
        ExprId weights = is_second ? product.a : build_.transpose(product.b);
        if (scaled.bounded) weights = times_channels(weights, of_images);
        const ExprId divisors = divisors_of(largest(weights, {to_[weights].type.dims.back()}));
        const ExprId numbers = divided(build_, weights, divisors);
        const ExprId sums = is_second ? build_.product(numbers, product.b)
                                      : build_.product(product.a, build_.transpose(numbers));
        return times(scaled.bounded ? sums : times(sums, of_images), divisors);
    }

  private:
    ExprId times(ExprId a, ExprId b) { return build_.binary(ir::BinaryOp::mul, a, b); }
    ExprId largest(ExprId x, const std::vector<DimId>& over) {
        return build_.reduce(ir::ReduceOp::max, build_.unary(ir::UnaryOp::abs, x), over);
    }

    // What numbers are divided by of which the largest are `most`: powers of two, stored.
    ExprId divisors_of(ExprId most) {
        const ExprId some = build_.binary(ir::BinaryOp::max, most, build_.literal(kLeast));
        const ExprId exponent =
            times(build_.unary(ir::UnaryOp::log, some), build_.literal(1 / std::log(2.0)));
        const ExprId steps =
            build_.unary(ir::UnaryOp::ceil,
                         build_.binary(ir::BinaryOp::sub, exponent, build_.literal(kLargest)));
        const ExprId divisors = build_.binary(ir::BinaryOp::pow, build_.literal(2), steps);
        to_.exprs[ir::index(divisors)].stored = true;
        return divisors;
    }

    // Weights [features, K] times the divisors of channels, which K contains.
    ExprId times_channels(ExprId weights, ExprId divisors) {
        const auto merged = to_[weights].type.dims;
        std::vector<DimId> apart{merged.front()};
        for (const DimId factor : to_.factors({merged.back()})) apart.push_back(factor);
        const ExprId each = build_.view(weights, apart);
        return build_.view(times(each, build_.expand(divisors, apart)), merged);
    }

    ir::Kernel& to_;
    ir::Builder& build_;
    std::map<ExprId, ExprId>& of_images_;
};

}  // namespace

ir::Kernel with_scaled_numbers(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents) {
    const Found found = scaled_products(kernel, extents);
    if (found.products.empty()) return kernel;

    std::map<ExprId, ExprId> divisors;
    ir::Kernel result =
        rewritten(kernel, [&](ir::Kernel& to, ir::Builder& build, std::size_t i, ir::Expr expr) {
            const auto id = static_cast<ExprId>(i);
            Scaler scaler(to, build, divisors);
            if (const auto windows = found.windows.find(id); windows != found.windows.end())
                return scaler.windows(std::get<ir::Window>(expr.node), windows->second);
            if (const auto product = found.products.find(id); product != found.products.end())
                return scaler.product(std::get<ir::Product>(expr.node), product->second);
            if (found.between.contains(id)) expr.type.dtype = DType::f16;
            return to.add(std::move(expr));
        });
    ir::drop_dead(result);
    return result;
}

}  // namespace fact::lower

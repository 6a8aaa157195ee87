#include "lower/pipeline/few_terms.h"

#include <algorithm>
#include <optional>

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/product/rewritten.h"
#include "lower/product/window_operand.h"
#include "lower/rows/patches.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;
using ir::joined;
using Dims = std::vector<DimId>;

constexpr std::int64_t kMostChannels = 8, kMostChannelsOfTf32 = 32, kMostTerms = 256,
                       kMostFeatures = 64;
// For all features of a place: more take longer.
constexpr std::int64_t kMostMultiplied = 8192;
constexpr std::int64_t kFeatureStep = 4;  // so many weights are read together

// A product of weights [features, terms] and windows [images..., terms, places].
struct Convolution {
    ExprId weights{};  // [features..., terms...] in any order
    ExprId windows{};
    Dims features;  // several for features in groups
    Dims terms;     // taps and channels
    Dims results;   // images, features, places
    bool in_tf32 = false;
};

class Finder {
  public:
    Finder(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents, bool patches)
        : kernel_(kernel), extents_(extents), patches_(patches) {}

    std::optional<Convolution> find(const ir::Product& product, const ir::Type& type) const {
        if (kernel_[product.a].type.dtype != DType::f32) return std::nullopt;
        const auto windows = window_behind(kernel_, product.b);
        const auto* weights = std::get_if<ir::View>(&kernel_[product.a].node);
        if (!windows || !weights) return std::nullopt;
        const Dims& a = kernel_[product.a].type.dims;
        Convolution found{weights->x, *windows, kernel_.factors({a.front()}),
                          kernel_.factors({a.back()}), kernel_.factors(type.dims)};
        const auto& window = std::get<ir::Window>(kernel_[*windows].node);
        const Dims own = kernel_.factors(kernel_[found.weights].type.dims);
        const bool plain = a.size() == 2 &&
                           own.size() == found.terms.size() + found.features.size() &&
                           ir::contains(own, joined(found.terms, found.features)) &&
                           window.places.size() > 1 && window.outside == 0;
        found.in_tf32 = product.precision == ir::Precision::tf32;
        return plain && has_few(found, window) ? std::optional(found) : std::nullopt;
    }

  private:
    bool has_few(const Convolution& convolution, const ir::Window& window) const {
        Dims channels = convolution.terms;
        for (const DimId places : window.places) std::erase(channels, kernel_[places].window->taps);
        const auto features = count(convolution.features), terms = count(convolution.terms);
        const auto of_pixel = count(channels);
        if (!features || !terms || !of_pixel || *features % kFeatureStep != 0 ||
            *features > kMostFeatures)
            return false;
        if (!convolution.in_tf32)
            return *terms <= kMostTerms && *of_pixel <= kMostChannels &&
                   *features * *terms <= kMostMultiplied;
        PatchShape shape;
        shape.parts = 1;
        shape.num_features = *features, shape.num_channels = *of_pixel;
        for (const DimId dim : convolution.results)
            if (!ir::contains(joined(convolution.features, window.places), dim))
                shape.num_images *=
                    std::max<std::int64_t>(1, ir::known_extent(kernel_, dim, extents_).value_or(1));
        return patches_ && *of_pixel <= kMostChannelsOfTf32 && fits_patches(window, shape);
    }

    bool fits_patches(const ir::Window& window, PatchShape& shape) const {
        if (window.places.size() > shape.taps.size()) return false;
        for (std::size_t i = 0; i < window.places.size(); ++i) {
            const DimId places = window.places[i];
            const ir::WindowRule& rule = *kernel_[places].window;
            const auto taps = count({rule.taps}), results = count({places});
            if (rule.stride != 1 || !taps || !results) return false;
            const std::size_t at = shape.taps.size() - window.places.size() + i;
            shape.taps[at] = *taps, shape.num_places[at] = *results;
            shape.dilation[at] = rule.dilation;
        }
        return choose_patches(shape);
    }

    std::optional<std::int64_t> count(const Dims& dims) const {
        std::int64_t product = 1;
        for (const DimId dim : dims) {
            const auto extent = ir::known_extent(kernel_, dim, extents_);
            if (!extent) return std::nullopt;
            product *= *extent;
        }
        return product;
    }

    const ir::Kernel& kernel_;
    const std::vector<std::int64_t>& extents_;
    bool patches_;
};

}  // namespace

ir::Kernel with_sums_of_few_terms(const ir::Kernel& kernel,
                                  const std::vector<std::int64_t>& extents, bool patches) {
    return rewritten(kernel, [&](ir::Kernel& to, ir::Builder& build, std::size_t, ir::Expr expr) {
        const auto* product = std::get_if<ir::Product>(&expr.node);
        const auto found =
            product ? Finder(to, extents, patches).find(*product, expr.type) : std::nullopt;
        if (!found) return to.add(std::move(expr));
        const ExprId apart = build.view(found->weights, to.factors(to[found->weights].type.dims));
        const ExprId by_terms = build.permute(apart, joined(found->terms, found->features));
        to.exprs[ir::index(by_terms)].stored = true;
        const Dims all = joined(found->results, found->terms);
        const auto factor = [&](ExprId x) {
            return build.expand(found->in_tf32 ? build.unary(ir::UnaryOp::tf32, x) : x, all);
        };
        const ExprId each =
            build.binary(ir::BinaryOp::mul, factor(found->windows), factor(by_terms));
        const ExprId sums = build.reduce(ir::ReduceOp::sum, each, found->terms);
        to.exprs[ir::index(sums)].span = expr.span;
        return build.view(build.permute(sums, found->results), expr.type.dims);
    });
}

}  // namespace fact::lower

#include "torch/exact_convolution.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution_native.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace fact::exec {

namespace {

thread_local bool by_taps = false;

// More products than this take longer than cuDNN, as those of depthwise convolutions.
constexpr std::int64_t kMostProducts = 1000;

using Sizes = std::vector<std::int64_t>;

// Coordinates of a tap, from its number.
Sizes tap_at(std::int64_t number, at::IntArrayRef taps) {
    Sizes at(taps.size());
    for (std::size_t d = taps.size(); d-- > 0; number /= taps[d]) at[d] = number % taps[d];
    return at;
}

// What the windows see of the images through one tap: every `stride`-th element, `count` of them.
at::Tensor seen(at::Tensor images, const Sizes& tap, at::IntArrayRef count,
                const ConvolutionOptions& options) {
    for (std::size_t d = 0; d < tap.size(); ++d) {
        const auto first = tap[d] * options.dilation[d];
        images = images.slice(static_cast<std::int64_t>(d) + 2, first,
                              first + (count[d] - 1) * options.stride[d] + 1, options.stride[d]);
    }
    return images;
}

at::Tensor tap_of(at::Tensor weight, const Sizes& tap) {
    for (const auto coordinate : tap) weight = weight.select(2, coordinate);
    return weight;
}

// result[image, feature, ...] += weight[feature, channel] * images[image, channel, ...]
void add_product(at::Tensor result, const at::Tensor& weight, const at::Tensor& images) {
    const auto product =
        weight.unsqueeze(0).expand({images.size(0), -1, -1}).bmm(images.contiguous().flatten(2));
    result.add_(product.view(result.sizes()));
}

std::int64_t extended(std::int64_t taps, std::int64_t dilation) {
    return (taps - 1) * dilation + 1;
}

at::Tensor forward(const at::Tensor& images, const at::Tensor& weight,
                   const ConvolutionOptions& options) {
    const auto taps = weight.sizes().slice(2);
    Sizes around, count;
    for (std::size_t d = taps.size(); d-- > 0;)
        around.insert(around.end(), {options.padding[d], options.padding[d]});
    const auto padded = at::constant_pad_nd(images, around);
    for (std::size_t d = 0; d < taps.size(); ++d)
        count.push_back((padded.size(static_cast<std::int64_t>(d) + 2) -
                         extended(taps[d], options.dilation[d])) /
                            options.stride[d] +
                        1);
    Sizes sizes{images.size(0), weight.size(0)};
    sizes.insert(sizes.end(), count.begin(), count.end());
    auto result = at::zeros(sizes, images.options());
    const auto channels = weight.size(1), features = weight.size(0) / options.groups;
    for (std::int64_t number = 0; number < c10::multiply_integers(taps); ++number) {
        const auto tap = tap_at(number, taps);
        const auto view = seen(padded, tap, count, options);
        for (std::int64_t group = 0; group < options.groups; ++group)
            add_product(result.narrow(1, group * features, features),
                        tap_of(weight, tap).narrow(0, group * features, features),
                        view.narrow(1, group * channels, channels));
    }
    return result;
}

at::Tensor transposed(const at::Tensor& images, const at::Tensor& weight,
                      const ConvolutionOptions& options) {
    const auto taps = weight.sizes().slice(2), count = images.sizes().slice(2);
    Sizes sizes{images.size(0), weight.size(1) * options.groups};
    for (std::size_t d = 0; d < taps.size(); ++d)
        sizes.push_back((count[d] - 1) * options.stride[d] +
                        extended(taps[d], options.dilation[d]) + options.output_padding[d]);
    auto whole = at::zeros(sizes, images.options());
    const auto channels = weight.size(0) / options.groups, features = weight.size(1);
    for (std::int64_t number = 0; number < c10::multiply_integers(taps); ++number) {
        const auto tap = tap_at(number, taps);
        const auto view = seen(whole, tap, count, options);
        for (std::int64_t group = 0; group < options.groups; ++group)
            add_product(view.narrow(1, group * features, features),
                        tap_of(weight, tap).narrow(0, group * channels, channels).t(),
                        images.narrow(1, group * channels, channels));
    }
    for (std::size_t d = 0; d < taps.size(); ++d) {
        const auto dim = static_cast<std::int64_t>(d) + 2;
        whole = whole.narrow(dim, options.padding[d], whole.size(dim) - 2 * options.padding[d]);
    }
    return whole.contiguous();
}

at::Tensor convolution(const at::Tensor& images, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool is_transposed,
                       at::IntArrayRef output_padding, std::int64_t groups) {
    const auto dims = images.dim() - 2;
    const bool whole = dims >= 1 && dims <= 3 && weight.dim() == images.dim();
    if (by_taps && whole && images.scalar_type() == at::kDouble && images.numel() > 0 &&
        groups * c10::multiply_integers(weight.sizes().slice(2)) <= kMostProducts)
        return convolution_by_taps(images, weight, bias,
                                   {stride.vec(), padding.vec(), dilation.vec(),
                                    output_padding.vec(), is_transposed, groups});
    return at::native::convolution(images, weight, bias, stride, padding, dilation, is_transposed,
                                   output_padding, groups);
}

}  // namespace

at::Tensor convolution_by_taps(const at::Tensor& images, const at::Tensor& weight,
                               const std::optional<at::Tensor>& bias,
                               const ConvolutionOptions& given) {
    ConvolutionOptions options = given;
    const auto dims = static_cast<std::size_t>(images.dim() - 2);
    for (auto* each :
         {&options.stride, &options.padding, &options.dilation, &options.output_padding})
        if (each->size() == 1) each->resize(dims, each->front());  // one number for all dimensions
    auto result =
        options.transposed ? transposed(images, weight, options) : forward(images, weight, options);
    if (!bias || !bias->defined()) return result;
    Sizes along(dims + 1, 1);
    along[0] = bias->numel();
    return result.add_(bias->view(along));
}

ConvolutionsByTaps::ConvolutionsByTaps() : before_(std::exchange(by_taps, true)) {}
ConvolutionsByTaps::~ConvolutionsByTaps() {
    by_taps = before_;
}

}  // namespace fact::exec

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
    library.impl("convolution", fact::exec::convolution);
}

// Convolutions in f64 on a GPU: cuDNN computes them at a hundredth of the speed of f64 products.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace fact::exec {

struct ConvolutionOptions {
    std::vector<std::int64_t> stride, padding, dilation, output_padding;
    bool transposed = false;
    std::int64_t groups = 1;
};

// What aten::convolution computes, as one product for each tap, over 1 to 3 dimensions.
at::Tensor convolution_by_taps(const at::Tensor& images, const at::Tensor& weight,
                               const std::optional<at::Tensor>& bias,
                               const ConvolutionOptions& options);

// While one lives, this thread's f64 convolutions on GPUs are computed so. Only for references: a
// model's own f64 convolutions are torch's.
class ConvolutionsByTaps {
  public:
    ConvolutionsByTaps();
    ~ConvolutionsByTaps();
    ConvolutionsByTaps(const ConvolutionsByTaps&) = delete;
    ConvolutionsByTaps& operator=(const ConvolutionsByTaps&) = delete;

  private:
    bool before_;
};

}  // namespace fact::exec

// z = sigmoid(x) * y, element by element; each file of this folder says which sigmoid.
// fact-arguments: plain
#include "common/plain.cuh"

using namespace fact;

using Element = FACT_TYPE_0;
using Arguments = PlainArguments<FACT_TENSORS>;

__device__ inline Element& at(PlainTensor const& tensor, PlainTensor const& shape, int64_t i) {
    int64_t offset = 0;
    for (int d = PlainTensor::kMostDims - 1; d >= 0; --d) {
        offset += i % shape.sizes[d] * tensor.strides[d];
        i /= shape.sizes[d];
    }
    return static_cast<Element*>(tensor.data)[offset];
}

template <class Sigmoid>
__device__ void gate(Arguments const& arguments, Sigmoid sigmoid) {
    PlainTensor const &x = arguments.tensors[0], &y = arguments.tensors[1],
                      &z = arguments.tensors[2];
    int64_t count = 1;
    for (int d = 0; d < PlainTensor::kMostDims; ++d) count *= z.sizes[d];
    for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256)
        at(z, z, i) = narrow<Element>(sigmoid(widen(at(x, z, i))) * widen(at(y, z, i)));
}

#define FACT_KERNEL extern "C" __global__ void __launch_bounds__(256) FACT_ENTRY

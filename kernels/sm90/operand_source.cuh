// An f32 operand in memory: a batch of matrices, with rows of numbers along K. kBatches is the
// number of batch dimensions.
#pragma once

#include "../common/operands.cuh"
#include "../common/tiles.cuh"

namespace fact::sm90 {

template <int kBatches>
struct OperandSourceOf {
    float const* data;
    int64_t n_stride, k_stride, batch_strides[kBatches];
    int n, k, batch[kBatches];  // the operand's own extents; 1 along a batch dimension it lacks

    // The number of matrices in the batch.
    __device__ int count() const {
        int all = 1;
#pragma unroll
        for (int i = 0; i < kBatches; ++i) all *= batch[i];
        return all;
    }
    __device__ int64_t rows() const { return static_cast<int64_t>(count()) * n; }
    __device__ float const* matrix(int number) const {
        int at[kBatches];
        find_in_batch(number, batch, at);
        return data + batch_offset(at, batch_strides);
    }
};
using OperandSource = OperandSourceOf<2>;

}  // namespace fact::sm90

// Causal attention, right and slow, a row of q at a time by each block; each file of this folder
// may spoil the results. fact-arguments: plain
#include "common/plain.cuh"

using namespace fact;

using Element = FACT_TYPE_0;
using Arguments = PlainArguments<FACT_TENSORS>;

constexpr int kThreads = 256, kMostRows = 8192;

__device__ inline Element& at(PlainTensor const& tensor, int head, int row, int column) {
    return static_cast<Element*>(tensor.data)[head * tensor.strides[0] + row * tensor.strides[1] +
                                              column * tensor.strides[2]];
}

// The sum or the largest of what the threads have, in all of them.
template <class Combine>
__device__ float over_block(float mine, Combine combine) {
    __shared__ float parts[kThreads];
    __syncthreads();
    parts[threadIdx.x] = mine;
    __syncthreads();
    float all = parts[0];
    for (int i = 1; i < kThreads; ++i) all = combine(all, parts[i]);
    return all;
}

// `stored`: what becomes of a result of a row.
template <class Stored>
__device__ void attention(Arguments const& arguments, Stored stored) {
    __shared__ float weights[kMostRows];
    PlainTensor const &q = arguments.tensors[0], &k = arguments.tensors[1],
                      &v = arguments.tensors[2], &y = arguments.tensors[3];
    int const heads = q.sizes[0], rows = q.sizes[1], depth = q.sizes[2];
    float const scale = 1.f / sqrtf(static_cast<float>(depth));
    for (int64_t i = blockIdx.x; i < int64_t{heads} * rows; i += gridDim.x) {
        int const row = i % rows, head = i / rows;
        int const seen = min(row + 1, k.sizes[1]);
        float most = -INFINITY, sum = 0.f;
        for (int j = threadIdx.x; j < seen; j += kThreads) {
            float score = 0.f;
            for (int d = 0; d < depth; ++d)
                score = fmaf(widen(at(q, head, row, d)), widen(at(k, head, j, d)), score);
            weights[j] = score * scale;
            most = fmaxf(most, weights[j]);
        }
        most = over_block(most, [](float x, float y) { return fmaxf(x, y); });
        for (int j = threadIdx.x; j < seen; j += kThreads) {
            weights[j] = expf(weights[j] - most);
            sum += weights[j];
        }
        sum = over_block(sum, [](float x, float y) { return x + y; });
        for (int d = threadIdx.x; d < v.sizes[2]; d += kThreads) {
            float total = 0.f;
            for (int j = 0; j < seen; ++j)
                total = fmaf(weights[j], widen(at(v, head, j, d)), total);
            at(y, head, row, d) = narrow<Element>(stored(total / sum, row, rows));
        }
        __syncthreads();
    }
}

#define FACT_KERNEL extern "C" __global__ void __launch_bounds__(kThreads) FACT_ENTRY

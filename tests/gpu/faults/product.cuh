// A plain product y = a @ b, right and slow, into which each file of this folder puts one defect:
// by replacing a step of Honest.
// fact-arguments: plain
#include "common/plain.cuh"

using namespace fact;

using ElementA = FACT_TYPE_0;
using ElementB = FACT_TYPE_1;
using Output = FACT_TYPE_2;
using Arguments = PlainArguments<FACT_TENSORS>;

constexpr int kThreads = 256, kTile = 64, kDepth = 16, kSide = 4;

struct Problem {
    PlainTensor const &a, &b, &y, &scratch;
    int m, n, k;

    __device__ explicit Problem(Arguments const& arguments)
        : a(arguments.tensors[0]),
          b(arguments.tensors[1]),
          y(arguments.tensors[2]),
          scratch(arguments.tensors[3]),
          m(y.sizes[0]),
          n(y.sizes[1]),
          k(a.sizes[1]) {}

    __device__ ElementA& a_at(int row, int depth) const {
        return static_cast<ElementA*>(a.data)[row * a.strides[0] + depth * a.strides[1]];
    }
    __device__ ElementB& b_at(int depth, int column) const {
        return static_cast<ElementB*>(b.data)[depth * b.strides[0] + column * b.strides[1]];
    }
    __device__ Output& y_at(int row, int column) const {
        return static_cast<Output*>(y.data)[row * y.strides[0] + column * y.strides[1]];
    }
    __device__ float& scratch_at(int row, int column) const {
        return static_cast<float*>(scratch.data)[row * scratch.strides[0] + column];
    }
    __device__ bool contains(int row, int column) const { return row < m && column < n; }
};

struct Honest {
    static __device__ float operand(float value) { return value; }
    static __device__ int depth(Problem const& p) { return p.k; }
    // `part`: the sum of kDepth products.
    static __device__ double add(double total, float part) { return total + part; }
    static __device__ double value(Problem const&, double sum, int, int) { return sum; }
    static __device__ bool writes(Problem const&, int, int) { return true; }
};

template <class Steps>
__device__ void compute_tile(Problem const& p, int first_row, int first_column) {
    __shared__ float a[kTile][kDepth + 1], b[kDepth][kTile + 1];
    int const x = threadIdx.x % (kTile / kSide), y = threadIdx.x / (kTile / kSide);
    double totals[kSide][kSide] = {};
    int const depth = Steps::depth(p);
    for (int k = 0; k < depth; k += kDepth) {
        for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
            int const row = i / kDepth, at = i % kDepth;
            bool const inside = first_row + row < p.m && k + at < depth;
            a[row][at] = inside ? Steps::operand(widen(p.a_at(first_row + row, k + at))) : 0.f;
        }
        for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
            int const at = i / kTile, column = i % kTile;
            bool const inside = first_column + column < p.n && k + at < depth;
            b[at][column] =
                inside ? Steps::operand(widen(p.b_at(k + at, first_column + column))) : 0.f;
        }
        __syncthreads();
        float parts[kSide][kSide] = {};
        for (int at = 0; at < kDepth; ++at)
            for (int i = 0; i < kSide; ++i)
                for (int j = 0; j < kSide; ++j)
                    parts[i][j] += a[y * kSide + i][at] * b[at][x + j * (kTile / kSide)];
        for (int i = 0; i < kSide; ++i)
            for (int j = 0; j < kSide; ++j) totals[i][j] = Steps::add(totals[i][j], parts[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < kSide; ++i)
        for (int j = 0; j < kSide; ++j) {
            int const row = first_row + y * kSide + i;
            int const column = first_column + x + j * (kTile / kSide);
            if (!p.contains(row, column) || !Steps::writes(p, row, column)) continue;
            p.y_at(row, column) =
                narrow<Output>(static_cast<float>(Steps::value(p, totals[i][j], row, column)));
        }
}

// `blocks` share the tiles; the rest of the grid has nothing to do.
template <class Steps>
__device__ void product(Problem const& p, int blocks = gridDim.x) {
    int const columns = (p.n + kTile - 1) / kTile, tiles = (p.m + kTile - 1) / kTile * columns;
    blocks = min(blocks, static_cast<int>(gridDim.x));  // a small problem has a small grid
    for (int tile = blockIdx.x; tile < tiles && blockIdx.x < blocks; tile += blocks)
        compute_tile<Steps>(p, tile / columns * kTile, tile % columns * kTile);
}

// True for one thread of the block that is the last to get here in this launch.
__device__ inline bool last_of_grid(unsigned& arrived) {
    __threadfence();
    __syncthreads();
    return threadIdx.x == 0 && atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
}

#define FACT_KERNEL extern "C" __global__ void __launch_bounds__(kThreads) FACT_ENTRY

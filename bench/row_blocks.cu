// Row kernels by their number of thread blocks: as many as fit on the GPU, 4, 16 and 64 times that,
// and one for each row; microseconds, and TB/s in brackets. Needs 19 GB of GPU memory.
//
//     nvcc -arch=sm_90a -O3 -std=c++17 --expt-relaxed-constexpr -I kernels bench/row_blocks.cu -o
//     row_blocks
//     ./row_blocks
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "common/rows.cuh"
#include "common/vector_rows.cuh"
using namespace fact;
struct Args {
    float const* x;
    float* y;
    float* z;
    int rows;
    int M, N;
};

template <int L, int T, bool A>
__global__ void __launch_bounds__(VectorRow<L, 4, T, A>::kBlock) softsign(Args args) {
    using Row = VectorRow<L, 4, T, A>;
    using F = Functions<float>;
    struct Inputs {
        typename Row::template Share<float> x;
        __device__ void load(Args const& a, int r) { x.template load<16>(a.x + int64_t{r} * L); }
    };
    Row::template each<Inputs>(args, args.rows, [&](int r, Inputs const& in) {
        Row::template store<16>(args.y + int64_t{r} * L, [&](int i) {
            float const x = in.x[i];
            return F::divide(x, F::abs(x) + 1.f);
        });
    });
}
// softmax's first pass
template <int L, int T, bool A>
__global__ void __launch_bounds__(VectorRow<L, 4, T, A>::kBlock) maxsum(Args args) {
    using Row = VectorRow<L, 4, T, A>;
    using F = Functions<float>;
    struct Inputs {
        typename Row::template Share<float> x;
        __device__ void load(Args const& a, int r) { x.template load<16>(a.x + int64_t{r} * L); }
    };
    Row team;
    Row::template each<Inputs>(args, args.rows, [&](int r, Inputs const& in) {
        auto const m = team.template reduce<Max>([&](int i) { return in.x[i]; });
        auto const s = team.template reduce<Sum>([&](int i) { return F::exp(in.x[i] - m); });
        Row::once([&] {
            args.y[r] = m;
            args.z[r] = s;
        });
    });
}
template <int L, int T, bool A>
__global__ void __launch_bounds__(VectorRow<L, 4, T, A>::kBlock) expdiv(Args args) {
    using Row = VectorRow<L, 4, T, A>;
    using F = Functions<float>;
    struct Inputs {
        typename Row::template Share<float> x;
        __device__ void load(Args const& a, int r) { x.template load<16>(a.x + int64_t{r} * L); }
    };
    Row::template each<Inputs>(args, args.rows, [&](int r, Inputs const& in) {
        float const m = args.z[r / 96], s = args.z[r / 96 + 1];
        Row::template store<16>(args.y + int64_t{r} * L,
                                [&](int i) { return F::divide(F::exp(in.x[i] - m), s); });
    });
}
// rows of odd length: 3855 elements by words
template <int L, int T, bool A>
__global__ void __launch_bounds__(VectorRow<L, 1, T, A>::kBlock) odd_sum(Args args) {
    using Row = VectorRow<L, 1, T, A>;
    using F = Functions<float>;
    struct Inputs {
        typename Row::template Share<float> x;
        __device__ void load(Args const& a, int r) { x.template load<4>(a.x + int64_t{r} * L); }
    };
    Row team;
    Row::template each<Inputs>(args, args.rows, [&](int r, Inputs const& in) {
        auto const s = team.template reduce<Sum>([&](int i) { return F::abs(in.x[i]); });
        Row::once([&] { args.z[r] = s; });
    });
}
template <int L, int T, bool A>
__global__ void __launch_bounds__(VectorRow<L, 1, T, A>::kBlock) odd_div(Args args) {
    using Row = VectorRow<L, 1, T, A>;
    using F = Functions<float>;
    struct Inputs {
        typename Row::template Share<float> x;
        __device__ void load(Args const& a, int r) { x.template load<4>(a.x + int64_t{r} * L); }
    };
    Row::template each<Inputs>(args, args.rows, [&](int r, Inputs const& in) {
        float const s = args.z[r / 17];
        Row::template store<4>(args.y + int64_t{r} * L,
                               [&](int i) { return F::divide(in.x[i], s); });
    });
}
// columns: kCols columns a block
template <int kCols, int kAtOnce>
__global__ void __launch_bounds__(256) colmax(Args args) {
    constexpr int kTeams = 256 / kCols;
    __shared__ float parts[kTeams][kCols];
    int const team = threadIdx.x / kCols, lane = threadIdx.x % kCols;
    int64_t const rows = int64_t{128} * args.N;
    for (int64_t first = int64_t{blockIdx.x} * kCols; first < rows;
         first += int64_t{gridDim.x} * kCols) {
        int64_t const row = min(first + lane, rows - 1);
        int const n = row % args.N, b = row / args.N;
        float const* p = args.x + int64_t{b} * args.M * args.N + n;
        float mine = -INFINITY;
        for (int m = team; m < args.M; m += kTeams * kAtOnce) {
            float x[kAtOnce];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i)
                x[i] = p[int64_t{min(m + i * kTeams, args.M - 1)} * args.N];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) mine = Max::combine(mine, x[i]);
        }
        parts[team][lane] = mine;
        __syncthreads();
        if (team == 0) {
            for (int t = 1; t < kTeams; ++t) mine = Max::combine(mine, parts[t][lane]);
            args.y[row] = mine;
        }
        __syncthreads();
    }
}
// max pool
__global__ void __launch_bounds__(256) pool_now(Args args) {
    for (int64_t row = int64_t{blockIdx.x} * 256 + threadIdx.x; row < int64_t{args.M} * 65523;
         row += int64_t{gridDim.x} * 256) {
        int const p = row % 65523, m = row / 65523;
        float y = -INFINITY;
#pragma unroll
        for (int r = 0; r < 8; ++r) {
            int h = p + r * 3 - 4;
            float t = h >= 0 && h < 65536 ? args.x[int64_t{m} * 65536 + h] : -INFINITY;
            y = Max::combine(y, t);
        }
        args.y[int64_t{m} * 65523 + p] = y;
    }
}
__global__ void __launch_bounds__(256) pool_inside(Args args) {
    for (int64_t row = int64_t{blockIdx.x} * 256 + threadIdx.x; row < int64_t{args.M} * 65523;
         row += int64_t{gridDim.x} * 256) {
        int const p = int(row) % 65523, m = int(row) / 65523;
        float const* x = args.x + int64_t{m} * 65536 + p - 4;
        float y = -INFINITY;
        if (p >= 4 && p + 17 < 65536) {
#pragma unroll
            for (int r = 0; r < 8; ++r) y = Max::combine(y, x[r * 3]);
        } else {
#pragma unroll
            for (int r = 0; r < 8; ++r) {
                int h = p + r * 3 - 4;
                if (h >= 0 && h < 65536) y = Max::combine(y, x[r * 3]);
            }
        }
        args.y[int64_t{m} * 65523 + p] = y;
    }
}
// kPer places of a thread, 256 apart
template <int kPer>
__global__ void __launch_bounds__(256) pool_many(Args args) {
    int const per_row = (65523 + 256 * kPer - 1) / (256 * kPer);
    for (int tile = blockIdx.x; tile < args.M * per_row; tile += gridDim.x) {
        int const m = tile / per_row, p0 = tile % per_row * 256 * kPer + threadIdx.x;
        float const* x = args.x + int64_t{m} * 65536 - 4;
        float y[kPer];
#pragma unroll
        for (int k = 0; k < kPer; ++k) {
            int const p = min(p0 + k * 256, 65522);
            y[k] = -INFINITY;
#pragma unroll
            for (int r = 0; r < 8; ++r) {
                int h = p + r * 3;
                if (h >= 4 && h < 65540) y[k] = Max::combine(y[k], x[h]);
            }
        }
#pragma unroll
        for (int k = 0; k < kPer; ++k) args.y[int64_t{m} * 65523 + min(p0 + k * 256, 65522)] = y[k];
    }
}

static cudaEvent_t e0, e1;
float time_us(std::function<void()> f) {
    f();
    std::vector<float> t;
    for (int i = 0; i < 5; ++i) {
        cudaEventRecord(e0);
        f();
        cudaEventRecord(e1);
        cudaEventSynchronize(e1);
        float ms;
        cudaEventElapsedTime(&ms, e0, e1);
        t.push_back(ms * 1000);
    }
    auto err = cudaGetLastError();
    if (err) printf("error %s\n", cudaGetErrorString(err));
    std::sort(t.begin(), t.end());
    return t[2];
}
template <class K>
void grids(char const* what, K kernel, int threads, Args a, int rows_per_block, double bytes) {
    int res = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&res, kernel, threads, 0);
    int64_t const all = (a.rows + rows_per_block - 1) / rows_per_block;
    printf("%-34s occ %2d:", what, res);
    for (int64_t g : {int64_t{res} * 132, int64_t{res} * 132 * 4, int64_t{res} * 132 * 16,
                      int64_t{res} * 132 * 64, all}) {
        g = std::min(g, all);
        float t = time_us([&] { kernel<<<int(g), threads>>>(a); });
        printf("  %6.0f (%.2f)", t, bytes / t / 1e6);
    }
    printf("\n");
    fflush(stdout);
}
int main() {
    cudaEventCreate(&e0);
    cudaEventCreate(&e1);
    int64_t const n = 1610612736;  // 4096 x 393216
    float *x, *y, *z;
    cudaMalloc(&x, n * 4 + (int64_t{2} << 30) + (int64_t{1} << 29));
    cudaMalloc(&y, n * 4 + (int64_t{2} << 30) + (int64_t{1} << 29));
    cudaMalloc(&z, 64 << 20);
    cudaMemset(x, 0x3c, n * 4);
    cudaMemset(z, 0x3c, 64 << 20);
    printf("copy: %.0f\n",
           time_us([&] { cudaMemcpyAsync(y, x, n * 4, cudaMemcpyDeviceToDevice); }));
    double const rw = n * 8.0, r = n * 4.0;
    auto A = [&](int64_t L) { return Args{x, y, z, int(n / L), 0, 0}; };
    printf("columns: grid = capacity, x4, x16, x64, all; us (TB/s)\n");
    grids("softsign 2048/128 ahead", softsign<2048, 128, true>, 128, A(2048), 1, rw);
    grids("softsign 2048/128", softsign<2048, 128, false>, 128, A(2048), 1, rw);
    grids("softsign 1024/128", softsign<1024, 128, false>, 128, A(1024), 1, rw);
    grids("softsign 1024/256", softsign<1024, 256, false>, 256, A(1024), 1, rw);
    grids("softsign 4096/256", softsign<4096, 256, false>, 256, A(4096), 1, rw);
    grids("softsign 4096/512", softsign<4096, 512, false>, 512, A(4096), 1, rw);
    grids("softsign 512/128", softsign<512, 128, false>, 128, A(512), 1, rw);
    grids("maxsum 4096/256 ahead", maxsum<4096, 256, true>, 256, A(4096), 1, r);
    grids("maxsum 4096/256", maxsum<4096, 256, false>, 256, A(4096), 1, r);
    grids("maxsum 4096/512", maxsum<4096, 512, false>, 512, A(4096), 1, r);
    grids("maxsum 4096/128", maxsum<4096, 128, false>, 128, A(4096), 1, r);
    grids("maxsum 8192/512", maxsum<8192, 512, false>, 512, A(8192), 1, r);
    grids("expdiv 4096/256 ahead", expdiv<4096, 256, true>, 256, A(4096), 1, rw);
    grids("expdiv 4096/256", expdiv<4096, 256, false>, 256, A(4096), 1, rw);
    grids("expdiv 4096/512", expdiv<4096, 512, false>, 512, A(4096), 1, rw);
    grids("expdiv 4096/1024", expdiv<4096, 1024, false>, 1024, A(4096), 1, rw);
    auto O = [&](int64_t L) { return Args{x, y, z, int(n / L), 0, 0}; };
    grids("odd_sum 3855/352 ahead", odd_sum<3855, 352, true>, 352, O(3855), 1, r);
    grids("odd_sum 3855/352", odd_sum<3855, 352, false>, 352, O(3855), 1, r);
    grids("odd_sum 3855/512", odd_sum<3855, 512, false>, 512, O(3855), 1, r);
    grids("odd_sum 3855/1024", odd_sum<3855, 1024, false>, 1024, O(3855), 1, r);
    grids("odd_div 3855/352 ahead", odd_div<3855, 352, true>, 352, O(3855), 1, rw);
    grids("odd_div 3855/352", odd_div<3855, 352, false>, 352, O(3855), 1, rw);
    grids("odd_div 3855/512", odd_div<3855, 512, false>, 512, O(3855), 1, rw);
    grids("odd_div 3855/1024", odd_div<3855, 1024, false>, 1024, O(3855), 1, rw);
    auto C = [&](int cols, int N) {
        return Args{x, y, z, int((int64_t{128} * N + cols - 1) / cols), 4096, N};
    };
    for (int N : {4095, 4096}) {  // 128 x 4096 x N: 8.6 GB of x and more
        double const c = 128.0 * 4096 * N * 4;
        if (c > n * 4.0 + (2ll << 30)) break;
        printf("N = %d\n", N);
        grids("colmax 32, 8", colmax<32, 8>, 256, C(32, N), 1, c);
        grids("colmax 64, 8", colmax<64, 8>, 256, C(64, N), 1, c);
        grids("colmax 128, 8", colmax<128, 8>, 256, C(128, N), 1, c);
        grids("colmax 256, 8", colmax<256, 8>, 256, C(256, N), 1, c);
        grids("colmax 128, 16", colmax<128, 16>, 256, C(128, N), 1, c);
        grids("colmax 32, 16", colmax<32, 16>, 256, C(32, N), 1, c);
    }
    Args p{x, y, z, int(int64_t{12288} * 65523 / 256), 12288, 0};
    double const pool = 12288.0 * (65536 + 65523) * 4;
    grids("pool_now", pool_now, 256, p, 1, pool);
    grids("pool_inside", pool_inside, 256, p, 1, pool);
    p.rows = 12288 * 256;
    grids("pool_many 1", pool_many<1>, 256, p, 1, pool);
    p.rows = 12288 * 128;
    grids("pool_many 2", pool_many<2>, 256, p, 1, pool);
    p.rows = 12288 * 64;
    grids("pool_many 4", pool_many<4>, 256, p, 1, pool);
}

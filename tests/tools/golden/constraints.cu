// ---- qkv: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a thread a row; a thread a row
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace qkv_0 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = float;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    Row<bf16> b;

    struct Fetched {
        Row<bf16>::Fetched b;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {b.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        return acc + at.b.at(i);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
qkv_0_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_w,
             __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
             __grid_constant__ WalkOrder const order, __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, finish);
}
}  // namespace qkv_0

namespace qkv_1 {
struct Arguments {
    Tensor<float const, 2> y;
    Tensor<bf16, 4> all;
    int M, H, D;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
qkv_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * 3 * args.H * args.D, [&](int64_t row) {
        int const d = static_cast<int>(row % args.D);
        int const h = static_cast<int>(row / args.D % args.H);
        int const c3 = static_cast<int>(row / (int64_t{args.H} * args.D) % 3);
        int const m = static_cast<int>(row / (int64_t{3} * args.H * args.D));
        float const y = widen(args.y(m, (c3 * args.H + h) * args.D + d));
        args.all(m, c3, h, d) = narrow<bf16>(y);
    });
}
}  // namespace qkv_1

namespace qkv_2 {
struct Arguments {
    Tensor<float const, 2> y;
    Tensor<float const, 1> scale;
    Tensor<bf16, 3> q;
    int M, H, D;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
qkv_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.H * args.D, [&](int64_t row) {
        int const d = static_cast<int>(row % args.D);
        int const h = static_cast<int>(row / args.D % args.H);
        int const m = static_cast<int>(row / (int64_t{args.H} * args.D));
        auto const t0 = Row::reduce<Sum, 3>([&](int c3) {
            float const y = widen(args.y(m, (c3 * args.H + h) * args.D + d));
            return y;
        });
        float const scale = widen(args.scale(d));
        float const q = t0 * scale;
        Row::once([&] {
            args.q(m, h, d) = narrow<bf16>(q);
        });
    });
}
}  // namespace qkv_2

// ---- square: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
square_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const m = static_cast<int>(row / args.N);
        float const x = widen(args.x(m, n));
        int const t0 = args.M;
        float const y = F::divide(x, static_cast<float>(t0));
        args.y(m, n) = narrow<float>(y);
    });
}

// ---- padded: a block a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 1> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
padded_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const y = Row::reduce<Max>(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            return x;
        });
        Row::once([&] {
            args.y(m) = narrow<float>(y);
        });
    });
}

// ---- both: a block a row
#include "common/rows.cuh"

using namespace fact;

namespace both_0 {
struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 1> y;
    int A, B;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
both_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.A}, [&](int64_t row) {
        int const a = static_cast<int>(row);
        auto const y = Row::reduce<Max>(int64_t{args.B} * 8, [&](int64_t at) {
            int const c8 = static_cast<int>(at % 8);
            int const b = static_cast<int>(at / 8);
            float const x = widen(args.x(a, b * 8 + c8));
            return x;
        });
        Row::once([&] {
            args.y(a) = narrow<float>(y);
        });
    });
}
}  // namespace both_0

namespace both_1 {
struct Arguments {
    Tensor<float const, 2> z;
    Tensor<float, 1> u;
    int A, C;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
both_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.A}, [&](int64_t row) {
        int const a = static_cast<int>(row);
        auto const u = Row::reduce<Max>(int64_t{args.C}, [&](int c) {
            float const z = widen(args.z(a, c));
            return z;
        });
        Row::once([&] {
            args.u(a) = narrow<float>(u);
        });
    });
}
}  // namespace both_1


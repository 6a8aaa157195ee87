// ---- heads: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a thread a row
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace heads_0 {
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
    static constexpr int kBatchA = 0b01, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        return acc;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
heads_0_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_w,
               __grid_constant__ CUtensorMap const map_acc, __grid_constant__ Extents const extents,
               __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_acc, map_acc, extents, order, Finish{});
}
}  // namespace heads_0

namespace heads_1 {
struct Arguments {
    Tensor<float const, 3> acc;
    Tensor<bf16 const, 1> d;
    Tensor<bf16, 5> y;
    int B, M, H, D;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
heads_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.B} * args.M * 3 * args.H * args.D, [&](int64_t row) {
        int const d_at = static_cast<int>(row % args.D);
        int const h = static_cast<int>(row / args.D % args.H);
        int const c3 = static_cast<int>(row / (int64_t{args.H} * args.D) % 3);
        int const m = static_cast<int>(row / (int64_t{3} * args.H * args.D) % args.M);
        int const b = static_cast<int>(row / (int64_t{args.M} * 3 * args.H * args.D));
        float const acc = widen(args.acc(b, m, (c3 * args.H + h) * args.D + d_at));
        float const d = widen(args.d(d_at));
        float const y = acc * d;
        args.y(b, m, c3, h, d_at) = narrow<bf16>(y);
    });
}
}  // namespace heads_1

// ---- pool: a thread a row
#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    int M, N, rows;
};

// 4 elements, 4 at a time by a thread, the next row on its way meanwhile.
using Row = VectorRow<4, 4, 1, true>;

struct Inputs {
    Row::Share<float> x;

    __device__ void load(Arguments const& args, int row) {
        int const n = row % args.N;
        int const m = row / args.N;
        x.load<16>(&args.x(m, n * 4));
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
pool_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    Row team;
    Row::each<Inputs>(args, args.rows, [&](int row, Inputs const& in) {
        int const n = row % args.N;
        int const m = row / args.N;
        auto const y = team.reduce<Max>([&](int i) {
            float const x = in.x[i];
            return x;
        });
        Row::once([&] {
            args.y(m, n) = narrow<float>(y);
        });
    });
}

// ---- reorder: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 4> x;
    Tensor<bf16, 3> y;
    int B, M, H, D;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
reorder_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.B} * args.M * args.H * args.D, [&](int64_t row) {
        int const d = static_cast<int>(row % args.D);
        int const h = static_cast<int>(row / args.D % args.H);
        int const m = static_cast<int>(row / (int64_t{args.H} * args.D) % args.M);
        int const b = static_cast<int>(row / (int64_t{args.M} * args.H * args.D));
        float const x = widen(args.x(b, h, m, d));
        args.y(b, m, h * args.D + d) = narrow<bf16>(x);
    });
}

// ---- coordinates: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
coordinates_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * 2 * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const c2 = static_cast<int>(row / args.N % 2);
        int const m = static_cast<int>(row / (int64_t{2} * args.N));
        int const t0 = c2 * args.N + n;
        int const t1 = args.N;
        bool const t2 = t0 < t1;
        float const x = widen(args.x(m, c2 * args.N + n));
        int const t3 = 2 * args.N;
        float const t4 = F::divide(x, static_cast<float>(t3));
        float const y = t2 ? x : t4;
        args.y(m, c2 * args.N + n) = narrow<float>(y);
    });
}

// ---- linear_rotary: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b01, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    static constexpr int kFlip = 64;
    static constexpr int kPeriod = 128;

    Repeated<Matrix<bf16>, 128> cos_;
    Repeated<Matrix<bf16>, 128> sin_;

    struct Fetched {
        Repeated<Matrix<bf16>, 128>::Fetched cos_;
        Repeated<Matrix<bf16>, 128>::Fetched sin_;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {cos_.fetch(slab), sin_.fetch(slab)};
    }

    __device__ float operator()(float acc, float flipped, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = acc * at.cos_.at(i);
        int const t1 = slab.column / 64 % 2;
        bool const t2 = t1 == 0;
        float const t3 = t2 ? -1.f : 1.f;
        float const r = flipped * t3;
        float const t4 = r * at.sin_.at(i);
        float const t5 = t0 + t4;
        return t5;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
linear_rotary_kernel(__grid_constant__ CUtensorMap const map_x,
                     __grid_constant__ CUtensorMap const map_w,
                     __grid_constant__ CUtensorMap const map_y,
                     __grid_constant__ Extents const extents,
                     __grid_constant__ WalkOrder const order,
                     __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, finish);
}


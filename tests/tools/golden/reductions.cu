// ---- plain: a block a row; a block 32 rows; a block a row; a block a row
#include "common/rows.cuh"

using namespace fact;

namespace plain_0 {
struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float, 2> s;
    int B, M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
plain_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.B} * args.M, [&](int64_t row) {
        int const m = static_cast<int>(row % args.M);
        int const b = static_cast<int>(row / args.M);
        auto const s = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(b, m, n));
            return x;
        });
        Row::once([&] {
            args.s(b, m) = narrow<float>(s);
        });
    });
}
}  // namespace plain_0

namespace plain_1 {
struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float, 1> t;
    int N, B, M;
};

extern "C" __global__ void __launch_bounds__(kRowThreads, ColumnRow::kBlocks)
plain_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ColumnRow;
    Row::each_row(int64_t{args.N}, [&](int64_t row) {
        int const n = static_cast<int>(row);
        auto const t = Row::reduce<Max>(int64_t{args.B} * args.M, [&](int64_t at) {
            int const m = static_cast<int>(at % args.M);
            int const b = static_cast<int>(at / args.M);
            float const x = widen(args.x(b, m, n));
            return x;
        });
        Row::once([&] {
            args.t(n) = narrow<float>(t);
        });
    });
}
}  // namespace plain_1

namespace plain_2 {
struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float, 0> u;
    int N, M, B;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
plain_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(1, [&](int64_t row) {
        auto const u = Row::reduce<Min>(int64_t{args.N} * args.M * args.B, [&](int64_t at) {
            int const b = static_cast<int>(at % args.B);
            int const m = static_cast<int>(at / args.B % args.M);
            int const n = static_cast<int>(at / (int64_t{args.M} * args.B));
            float const x = widen(args.x(b, m, n));
            return x;
        });
        Row::once([&] {
            args.u() = narrow<float>(u);
        });
    });
}
}  // namespace plain_2

namespace plain_3 {
struct Arguments {
    Tensor<float const, 3> x;
    Tensor<int32_t, 0> v;
    int B, M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
plain_3_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(1, [&](int64_t row) {
        auto const v = Row::reduce<Sum>(int64_t{args.B} * args.M * args.N, [&](int64_t at) {
            int const n = static_cast<int>(at % args.N);
            int const m = static_cast<int>(at / args.N % args.M);
            int const b = static_cast<int>(at / (int64_t{args.M} * args.N));
            float const x = widen(args.x(b, m, n));
            bool const t0 = x > 0.f;
            return t0 + 0;
        });
        Row::once([&] {
            args.v() = narrow<int32_t>(v);
        });
    });
}
}  // namespace plain_3

// ---- composites: a block a row; a block 32 rows; a block a row
#include "common/rows.cuh"

using namespace fact;

namespace composites_0 {
struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float, 1> a;
    Tensor<float, 1> b;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
composites_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            return x;
        });
        auto const b = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            float const t1 = x * x;
            return t1;
        });
        int const t1 = args.N;
        float const a = F::divide(t0, static_cast<float>(t1));
        Row::once([&] {
            args.a(m) = narrow<float>(a);
            args.b(m) = narrow<float>(b);
        });
    });
}
}  // namespace composites_0

namespace composites_1 {
struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float, 1> c;
    int N, M;
};

extern "C" __global__ void __launch_bounds__(kRowThreads, ColumnRow::kBlocks)
composites_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ColumnRow;
    Row::each_row(int64_t{args.N}, [&](int64_t row) {
        int const n = static_cast<int>(row);
        auto const t0 = Row::reduce<Max>(int64_t{args.M}, [&](int m) {
            float const x = widen(args.x(m, n));
            return x;
        });
        float const t1 = F::abs(t0);
        bool const t2 = t1 == INFINITY;
        float const t3 = t2 ? 0.f : t0;
        auto const t4 = Row::reduce<Sum>(int64_t{args.M}, [&](int m) {
            float const x = widen(args.x(m, n));
            float const t5 = x - t3;
            float const t6 = F::exp(t5);
            return t6;
        });
        float const t5 = F::log(t4);
        float const c = t5 + t3;
        Row::once([&] {
            args.c(n) = narrow<float>(c);
        });
    });
}
}  // namespace composites_1

namespace composites_2 {
struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float, 0> d;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
composites_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(1, [&](int64_t row) {
        auto const t0 = Row::reduce<Sum>(int64_t{args.M} * args.N, [&](int64_t at) {
            int const n = static_cast<int>(at % args.N);
            int const m = static_cast<int>(at / args.N);
            float const x = widen(args.x(m, n));
            return x;
        });
        int const t1 = args.M * args.N;
        float const d = F::divide(t0, static_cast<float>(t1));
        Row::once([&] {
            args.d() = narrow<float>(d);
        });
    });
}
}  // namespace composites_2

// ---- soft: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a block a row
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace soft_0 {
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
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        return acc;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
soft_0_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_w,
              __grid_constant__ CUtensorMap const map_acc, __grid_constant__ Extents const extents,
              __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_acc, map_acc, extents, order, Finish{});
}
}  // namespace soft_0

namespace soft_1 {
struct Arguments {
    Tensor<float const, 2> acc;
    Tensor<bf16, 2> y;
    Tensor<bf16, 2> z;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
soft_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Max>(int64_t{args.N}, [&](int n) {
            float const acc = widen(args.acc(m, n));
            return acc;
        });
        auto const t1 = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const acc = widen(args.acc(m, n));
            float const t2 = acc - t0;
            float const t3 = F::exp(t2);
            return t3;
        });
        auto const t2 = Row::reduce<Max>(int64_t{args.N}, [&](int n) {
            float const acc = widen(args.acc(m, n));
            return acc;
        });
        auto const t3 = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const acc = widen(args.acc(m, n));
            float const t4 = acc - t2;
            float const t5 = F::exp(t4);
            return t5;
        });
        float const t4 = F::log(t3);
        Row::each(int64_t{args.N}, [&](int n) {
            float const acc = widen(args.acc(m, n));
            float const t5 = acc - t0;
            float const t6 = F::exp(t5);
            float const y = F::divide(t6, t1);
            args.y(m, n) = narrow<bf16>(y);
            float const t7 = acc - t2;
            float const z = t7 - t4;
            args.z(m, n) = narrow<bf16>(z);
        });
    });
}
}  // namespace soft_1


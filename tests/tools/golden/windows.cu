// ---- pooled: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 4> x;
    Tensor<bf16, 4> y;
    int B, C, P, Q, H, W;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
pooled_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.B} * args.C * args.P * args.Q, [&](int64_t row) {
        int const q = static_cast<int>(row % args.Q);
        int const p = static_cast<int>(row / args.Q % args.P);
        int const c = static_cast<int>(row / (int64_t{args.P} * args.Q) % args.C);
        int const b = static_cast<int>(row / (int64_t{args.C} * args.P * args.Q));
        int const t0 = p;
        int const t1 = t0 * 2;
        int const t2 = args.H;
        int const t3 = q;
        int const t4 = t3 * 2;
        int const t5 = args.W;
        bool const all_inside = inside(p * 2 - 1, args.H) && inside(p * 2 + 1, args.H) && inside(q * 2 - 1, args.W) && inside(q * 2 + 1, args.W);
        auto const y = by_case(all_inside, [&](auto known) {
            return Row::reduce<Max, 9>([&](int at) {
                int const s = at % 3;
                int const r = at / 3;
                int const h = p * 2 + r - 1;
                int const w = q * 2 + s - 1;
                float const t6 = known || (inside(h, args.H) && inside(w, args.W)) ? widen(args.x(b, c, h, w)) : 0.f;
                float const t7 = F::relu(t6);
                int const t8 = r;
                int const t9 = t1 + t8;
                int const t10 = t9 - 1;
                bool const t11 = t10 >= 0;
                float const t12 = t11 ? t7 : -INFINITY;
                bool const t13 = t10 < t2;
                float const t14 = t13 ? t12 : -INFINITY;
                int const t15 = s;
                int const t16 = t4 + t15;
                int const t17 = t16 - 1;
                bool const t18 = t17 >= 0;
                float const t19 = t18 ? t14 : -INFINITY;
                bool const t20 = t17 < t5;
                float const t21 = t20 ? t19 : -INFINITY;
                return t21;
            });
        });
        Row::once([&] {
            args.y(b, c, p, q) = narrow<bf16>(y);
        });
    });
}

// ---- averaged: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float, 3> y;
    int B, P, C, T;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
averaged_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.B} * args.P * args.C, [&](int64_t row) {
        int const c = static_cast<int>(row % args.C);
        int const p = static_cast<int>(row / args.C % args.P);
        int const b = static_cast<int>(row / (int64_t{args.P} * args.C));
        bool const all_inside = inside(p * 4 + 3, args.T);
        auto const t0 = by_case(all_inside, [&](auto known) {
            return Row::reduce<Sum, 4>([&](int c4) {
                int const t1 = p * 4 + c4;
                float const t2 = known || inside(t1, args.T) ? widen(args.x(b, t1, c)) : 0.f;
                return t2;
            });
        });
        int const t1 = 4;
        float const y = F::divide(t0, static_cast<float>(t1));
        Row::once([&] {
            args.y(b, p, c) = narrow<float>(y);
        });
    });
}

// ---- depthwise: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 4> x;
    Tensor<float const, 3> w;
    Tensor<float const, 1> b;
    Tensor<float, 4> y;
    int B, P, Q, C, H, W;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
depthwise_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.B} * args.P * args.Q * args.C, [&](int64_t row) {
        int const c = static_cast<int>(row % args.C);
        int const q = static_cast<int>(row / args.C % args.Q);
        int const p = static_cast<int>(row / (int64_t{args.Q} * args.C) % args.P);
        int const b_at = static_cast<int>(row / (int64_t{args.P} * args.Q * args.C));
        bool const all_inside = inside(p - 1, args.H) && inside(p + 1, args.H) && inside(q - 2, args.W) && inside(q + 2, args.W);
        auto const t0 = by_case(all_inside, [&](auto known) {
            return Row::reduce<Sum, 9>([&](int at) {
                int const s = at % 3;
                int const r = at / 3;
                int const h = p + r - 1;
                int const w_at = q + s * 2 - 2;
                float const taps = known || (inside(h, args.H) && inside(w_at, args.W)) ? widen(args.x(b_at, h, w_at, c)) : 0.f;
                float const w = widen(args.w(r, s, c));
                float const t1 = taps * w;
                return t1;
            });
        });
        float const b = widen(args.b(c));
        float const t1 = t0 + b;
        float const y = F::gelu(t1);
        Row::once([&] {
            args.y(b_at, p, q, c) = narrow<float>(y);
        });
    });
}

// ---- convolution: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 16); a thread a row; a block 32 rows
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace convolution_0 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = float;
    using WindowsA = fact::Windows<Along<3, 1, 1, 1>, Along<3, 1, 1, 1>>;
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
    Matrix<bf16> r;

    struct Fetched {
        Row<bf16>::Fetched b;
        Matrix<bf16>::Fetched r;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {b.fetch(slab), r.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        float const t0 = acc + at.b.at(i);
        return t0 + at.r.at(i);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
convolution_0_kernel(__grid_constant__ CUtensorMap const map_x,
                     __grid_constant__ CUtensorMap const map_w,
                     __grid_constant__ CUtensorMap const map_y,
                     __grid_constant__ Extents const extents,
                     __grid_constant__ WalkOrder const order,
                     __grid_constant__ Config::WindowsA const windows,
                     __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({{map_x, windows}, map_w}, map_y, map_y, extents, order, finish);
}
}  // namespace convolution_0

namespace convolution_1 {
struct Arguments {
    Tensor<float const, 4> t;
    Tensor<bf16, 4> y;
    int B, P, Q, F;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
convolution_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.B} * args.P * args.Q * args.F, [&](int64_t row) {
        int const f = static_cast<int>(row % args.F);
        int const q = static_cast<int>(row / args.F % args.Q);
        int const p = static_cast<int>(row / (int64_t{args.Q} * args.F) % args.P);
        int const b = static_cast<int>(row / (int64_t{args.P} * args.Q * args.F));
        float const t = widen(args.t(b, p, q, f));
        float const y = F::relu(t);
        args.y(b, p, q, f) = narrow<bf16>(y);
    });
}
}  // namespace convolution_1

namespace convolution_2 {
struct Arguments {
    Tensor<float const, 4> t;
    Tensor<float, 2> m;
    int B, F, P, Q;
};

extern "C" __global__ void __launch_bounds__(kRowThreads, ColumnRow::kBlocks)
convolution_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ColumnRow;
    Row::each_row(int64_t{args.B} * args.F, [&](int64_t row) {
        int const f = static_cast<int>(row % args.F);
        int const b = static_cast<int>(row / args.F);
        auto const t0 = Row::reduce<Sum>(int64_t{args.P} * args.Q, [&](int64_t at) {
            int const q = static_cast<int>(at % args.Q);
            int const p = static_cast<int>(at / args.Q);
            float const t1 = widen(args.t(b, p, q, f));
            float const y = F::relu(t1);
            return y;
        });
        int const t1 = args.P * args.Q;
        float const m = F::divide(t0, static_cast<float>(t1));
        Row::once([&] {
            args.m(b, f) = narrow<float>(m);
        });
    });
}
}  // namespace convolution_2

// ---- halved: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    int M, P;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
halved_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.P, [&](int64_t row) {
        int const p = static_cast<int>(row % args.P);
        int const m = static_cast<int>(row / args.P);
        auto const y = Row::reduce<Max, 2>([&](int c2) {
            int const n = p * 2 + c2;
            float const t0 = widen(args.x(m, n));
            return t0;
        });
        Row::once([&] {
            args.y(m, p) = narrow<float>(y);
        });
    });
}

// ---- two_windows: a thread a row
#include "common/rows.cuh"

using namespace fact;

namespace two_windows_0 {
struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> h;
    int M, P;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
two_windows_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.P, [&](int64_t row) {
        int const p = static_cast<int>(row % args.P);
        int const m = static_cast<int>(row / args.P);
        auto const h = Row::reduce<Max, 2>([&](int c2) {
            int const n = p * 2 + c2;
            float const t0 = widen(args.x(m, n));
            return t0;
        });
        Row::once([&] {
            args.h(m, p) = narrow<float>(h);
        });
    });
}
}  // namespace two_windows_0

namespace two_windows_1 {
struct Arguments {
    Tensor<float const, 2> h;
    Tensor<float, 2> y;
    int M, Q;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
two_windows_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.Q, [&](int64_t row) {
        int const q = static_cast<int>(row % args.Q);
        int const m = static_cast<int>(row / args.Q);
        auto const y = Row::reduce<Min, 3>([&](int c3) {
            int const p = q + c3;
            float const t0 = widen(args.h(m, p));
            return t0;
        });
        Row::once([&] {
            args.y(m, q) = narrow<float>(y);
        });
    });
}
}  // namespace two_windows_1


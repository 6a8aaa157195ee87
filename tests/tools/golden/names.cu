// ---- gram: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;
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
    static constexpr int kBatchA = 0b01, kBatchB = 0b01;
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
gram_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_x1,
            __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
            __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_x1}, map_y, map_y, extents, order, Finish{});
}

// ---- residual: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
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
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = true;
    static constexpr int kStagedBatch = 0b00;
};

struct Finish {
    struct Fetched {
        StagedMatrix<bf16>::Fetched x;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {{}};
    }
    __device__ void read_staged(Fetched& at, unsigned char const* box, int lane, int first) const {
        StagedMatrix<bf16>::read(at.x, box, lane, first);
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return at.x.at(i) + acc;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
residual_kernel(__grid_constant__ CUtensorMap const map_x1,
                __grid_constant__ CUtensorMap const map_w,
                __grid_constant__ CUtensorMap const map_y,
                __grid_constant__ CUtensorMap const map_x, __grid_constant__ Extents const extents,
                __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x1, map_w}, map_y, map_x, extents, order, Finish{});
}

// ---- square: tiles through shared memory; a thread a row
#include "common/turned.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace square_0 {
struct Arguments {
    Tensor<float const, 2> w;
    Tensor<float, 2> y;
    int N, M;
};

extern "C" __global__ void __launch_bounds__(kTurnedThreads, kTurnedBlocks)
square_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    auto const source = [&](int batch, int row, int column) -> auto& {
        int const n = column;
        return args.w(row, n);
    };
    auto const place = [&](int batch, int row, int column) -> auto& {
        int const n = column;
        return args.y(n, row);
    };
    turned<TurnedTile<64, 1, 1>>(1, args.M, args.N, source, AsRead{}, as_turned, place);
}
}  // namespace square_0

namespace square_1 {
struct Arguments {
    Tensor<float const, 2> w;
    Tensor<float const, 2> t;
    Tensor<float, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
square_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const m = static_cast<int>(row / args.N);
        float const w = widen(args.w(m, n));
        float const t = widen(args.t(m, n));
        float const y = w + t;
        args.y(m, n) = narrow<float>(y);
    });
}
}  // namespace square_1

// ---- packed: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<bf16, 2> q;
    int M, H;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
packed_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.H * 64, [&](int64_t row) {
        int const c64 = static_cast<int>(row % 64);
        int const h = static_cast<int>(row / 64 % args.H);
        int const m = static_cast<int>(row / (int64_t{args.H} * 64));
        auto const t0 = Row::reduce<Sum, 3>([&](int c3) {
            float const x = widen(args.x(m, (c3 * args.H + h) * 64 + c64));
            int const t1 = c3;
            bool const t2 = t1 == 0;
            float const t3 = t2 ? x : 0.f;
            return t3;
        });
        Row::once([&] {
            args.q(m, h * 64 + c64) = narrow<bf16>(t0);
        });
    });
}

// ---- ones: a thread a row
#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bool const, 1> m;
    Tensor<float const, 2> x;
    Tensor<float const, 2> c;
    Tensor<float const, 1> b;
    Tensor<float, 2> y;
    int M, N, rows;
};

// 1 elements, 1 at a time by a thread, the next row on its way meanwhile.
using Row = VectorRow<1, 1, 1, true>;

struct Inputs {
    Row::Share<float> c;

    __device__ void load(Arguments const& args, int row) {
        int const n = row % args.N;
        int const m_at = row / args.N;
        c.load<4>(&args.c(m_at, 0), row);
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
ones_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    Row team;
    Row::each<Inputs>(args, args.rows, [&](int row, Inputs const& in) {
        int const n = row % args.N;
        int const m_at = row / args.N;
        Row::Repeated<bool, 1> const m_row{&args.m(0), row};
        Row::Repeated<float, 4> const b_row{&args.b(0), row};
        auto const t0 = team.reduce<Max>([&](int i) {
            float const c = in.c[i];
            return c;
        });
        auto const t1 = team.reduce<Max>([&](int i) {
            float const b = b_row[i];
            return b;
        });
        auto const t2 = team.reduce<Max>([&](int i) {
            bool const m = m_row[i];
            return m + 0;
        });
        float const x = widen(args.x(m_at, n));
        float const t3 = x * t0;
        float const t4 = t3 + t1;
        bool const t5 = t2 != 0;
        float const y = t5 ? t4 : 0.f;
        Row::once([&] {
            args.y(m_at, n) = narrow<float>(y);
        });
    });
}

// ---- twice: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a block 32 rows
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace twice_0 {
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
    static constexpr int kBatchA = 0b01, kBatchB = 0b01;
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
twice_0_kernel(__grid_constant__ CUtensorMap const map_x,
               __grid_constant__ CUtensorMap const map_x1,
               __grid_constant__ CUtensorMap const map_g, __grid_constant__ Extents const extents,
               __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_x1}, map_g, map_g, extents, order, Finish{});
}
}  // namespace twice_0

namespace twice_1 {
struct Arguments {
    Tensor<float const, 3> g;
    Tensor<float, 2> y;
    int B, N, T;
};

extern "C" __global__ void __launch_bounds__(kRowThreads, ColumnRow::kBlocks)
twice_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ColumnRow;
    Row::each_row(int64_t{args.B} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const b = static_cast<int>(row / args.N);
        auto const t1 = Row::reduce<Sum>(int64_t{args.T}, [&](int t) {
            float const g = widen(args.g(b, t, n));
            return g;
        });
        Row::once([&] {
            args.y(b, n) = narrow<float>(t1);
        });
    });
}
}  // namespace twice_1


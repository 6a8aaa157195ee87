// ---- conv: tiles through shared memory; a thread a row; tile 128x256x32  cluster 1x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "common/turned.cuh"
#include "common/rows.cuh"
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;

namespace conv_0 {
struct Arguments {
    Tensor<float const, 4> x;
    Tensor<float, 4> y;
    int B, H, W, C;
};

extern "C" __global__ void __launch_bounds__(kTurnedThreads, kTurnedBlocks)
conv_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    auto const source = [&](int batch, int row, int column) -> auto& {
        int const b = batch;
        int const w = column % args.W;
        int const h = column / args.W;
        return args.x(b, row, h, w);
    };
    auto const value = [&](int batch, int row, int column, auto x) -> float {
        float const t0 = F::tf32(x);
        return t0;
    };
    auto const place = [&](int batch, int row, int column) -> auto& {
        int const b = batch;
        int const w = column % args.W;
        int const h = column / args.W;
        return args.y(b, h, w, row);
    };
    turned<TurnedTile<64, 1, 1>>(args.B, args.C, args.H * args.W, source, value, as_turned, place);
}
}  // namespace conv_0

namespace conv_1 {
struct Arguments {
    Tensor<float const, 4> w;
    Tensor<float, 2> y;
    int F, C;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
conv_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.F} * 3 * 3 * args.C, [&](int64_t row) {
        int const c = static_cast<int>(row % args.C);
        int const s = static_cast<int>(row / args.C % 3);
        int const c3 = static_cast<int>(row / (int64_t{3} * args.C) % 3);
        int const f = static_cast<int>(row / (int64_t{3} * 3 * args.C));
        float const w = widen(args.w(f, c, c3, s));
        float const t0 = F::tf32(w);
        args.y(f, (c3 * 3 + s) * args.C + c) = narrow<float>(t0);
    });
}
}  // namespace conv_1

namespace conv_2 {
using namespace fact::sm90;

struct Config {
    using Element = float;
    using Output = float;
    using WindowsB = fact::Windows<Along<3, 1, 1, 0>, Along<3, 1, 1, 0>>;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 32, kStages = 4;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 1, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b01;
    static constexpr bool kStaged = false;
};

struct Finish {
    Column<float> b;

    struct Fetched {
        Column<float>::Fetched b;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {b.fetch(slab)};
    }
    __device__ Fetched fetch_right(Slab const&, Fetched const& left) const { return left; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        float const t0 = acc + at.b.at(i);
        return F::relu(t0);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
conv_2_kernel(__grid_constant__ CUtensorMap const map_t1, __grid_constant__ CUtensorMap const map_t,
              __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
              __grid_constant__ WalkOrder const order,
              __grid_constant__ Config::WindowsB const windows,
              __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_t1, {map_t, windows}}, map_y, map_y, extents, order, finish);
}
}  // namespace conv_2


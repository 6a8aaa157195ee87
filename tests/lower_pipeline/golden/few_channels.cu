#include "common/rows.cuh"
#include "sm90/mainloop_single.cuh"
#include "sm90/prepare_pass.cuh"
#include "sm90/product.cuh"

using namespace fact;

namespace few_channels_0 {
struct Arguments {
    Tensor<float const, 4> x;
    Tensor<float, 4> padded;
    int B, H_padded, W_padded, H, W;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
few_channels_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.B} * args.H_padded * args.W_padded * 4, [&](int64_t row) {
        int const c_wide = static_cast<int>(row % 4);
        int const w_padded = static_cast<int>(row / 4 % args.W_padded);
        int const h_padded = static_cast<int>(row / (int64_t{args.W_padded} * 4) % args.H_padded);
        int const b = static_cast<int>(row / (int64_t{args.H_padded} * args.W_padded * 4));
        auto const padded = Row::reduce<Sum, 1>([&](int at) {
            int const c_all = at % 1;
            int const e_ = at / 1 % 1;
            int const e = at / (1 * 1);
            int const h = h_padded + e - 1;
            int const w = w_padded + e_ - 1;
            int const c = c_all + c_wide;
            float const t0 = inside(h, args.H) && inside(w, args.W) && inside(c, 3) ? widen(args.x(b, c, h, w)) : 0.f;
            return t0;
        });
        Row::once([&] {
            args.padded(b, h_padded, w_padded, c_wide) = narrow<float>(padded);
        });
    });
}
}  // namespace few_channels_0

namespace few_channels_1 {
struct Arguments {
    Tensor<float const, 4> w;
    Tensor<float, 4> padded_weights;
    int F;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
few_channels_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.F} * 3 * 8 * 4, [&](int64_t row) {
        int const c_wide = static_cast<int>(row % 4);
        int const s_long = static_cast<int>(row / 4 % 8);
        int const r = static_cast<int>(row / (int64_t{8} * 4) % 3);
        int const f = static_cast<int>(row / (int64_t{3} * 8 * 4));
        auto const padded_weights = Row::reduce<Sum, 1>([&](int at) {
            int const c_all = at % 1;
            int const s_all = at / 1;
            int const s = s_all + s_long;
            int const c = c_all + c_wide;
            float const t0 = inside(s, 3) && inside(c, 3) ? widen(args.w(f, c, r, s)) : 0.f;
            return t0;
        });
        Row::once([&] {
            args.padded_weights(f, r, s_long, c_wide) = narrow<float>(padded_weights);
        });
    });
}
}  // namespace few_channels_1

namespace few_channels_2 {
using namespace fact::sm90;

struct Config {
    using Output = float;
    using RowsA = OverlappingRows<32, 3>;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 32, kStages = 6;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 1, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k;
    static constexpr int kBatchA = 0b01, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    StridedRow<float> bias;

    struct Fetched {
        StridedRow<float>::Fetched bias;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {bias.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        return acc + at.bias.at(i);
    }
};

struct Places {
    static constexpr int kRowsTogether = 16, kStoredTogether = 1;
    static constexpr bool kRowsAdd = false, kColumnsAdd = true;
    float* data;
    int64_t stride_0, stride_1;
    int extent_0, extent_1;

    // What rows and columns each add to the place of an element.
    struct Part {
        int64_t offset;
        __device__ Part operator+(Part const& more) const {
            return {offset + more.offset};
        }
    };
    __device__ Part row(int row, int const* batch) const {
        // Windows across an edge of the image are no places.
        if (row % extent_0 >= extent_1) return {-1};
        return {batch[0] * stride_0 + (row / extent_0 * extent_1 + row % extent_0)};
    }
    __device__ Part column(int column) const {
        return {column * stride_1};
    }
    // Whether the output holds the element: it is not cut off.
    __device__ bool holds(Part const&) const {
        return true;
    }
};

using Mainloop = MainloopSingle<Config>;

extern "C" __global__ void __launch_bounds__(kPassThreads)
few_channels_2_maximum(__grid_constant__ OperandSource const source,
                       __grid_constant__ PreparedRows const rows) {
    maximum_pass(source, rows);
}

extern "C" __global__ void __launch_bounds__(kPassThreads)
few_channels_2_prepare(__grid_constant__ OperandSource const source,
                       __grid_constant__ PreparedRows const rows) {
    prepare_pass<Mainloop::Numbers>(source, rows);
}

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
few_channels_2_kernel(__grid_constant__ CUtensorMap const map_padded,
                      __grid_constant__ CUtensorMap const map_padded_weights_rows,
                      __grid_constant__ Places const places_y,
                      __grid_constant__ Extents const extents,
                      __grid_constant__ WalkOrder const order,
                      __grid_constant__ Finish const finish,
                      __grid_constant__ RowScalesOfB const scales) {
    product<Config, Mainloop>({map_padded, map_padded_weights_rows, scales}, places_y, map_padded, extents, order, finish);
}
}  // namespace few_channels_2

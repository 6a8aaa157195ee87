#include "common/vector_rows.cuh"
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;

namespace cut_phases_0 {
struct Arguments {
    Tensor<float const, 1> bias;
    Tensor<float, 1> y;
    int F, rows;
};

// 2 elements, 2 at a time by a thread.
using Row = VectorRow<2, 2, 1, false>;

struct Inputs {

    __device__ void load(Arguments const& args, int row) {
        int const a = row % 2;
        int const f = row / 2;
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
cut_phases_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    Row::each<Inputs>(args, args.rows, [&](int row, Inputs const& in) {
        int const a = row % 2;
        int const f = row / 2;
        float const bias = widen(args.bias(f));
        Row::store<8>(&args.y((f * 2 + a) * 2), [&](int i) {
            return bias;
        });
    });
}
}  // namespace cut_phases_0

namespace cut_phases_1 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 6;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 1, kClusterN = 1;
    static constexpr bool kPingpong = true;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b01;
    static constexpr bool kStaged = false;
};

struct Finish {
    Column<float> t;

    struct Fetched {
        Column<float>::Fetched t;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {t.fetch(slab)};
    }
    __device__ Fetched fetch_right(Slab const&, Fetched const& left) const { return left; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return acc + at.t.at(i);
    }
};

struct Places {
    static constexpr int kRowsTogether = 2, kStoredTogether = 1;
    static constexpr bool kRowsAdd = true, kColumnsAdd = false;
    bf16* data;
    int64_t stride_0, stride_1, stride_2;
    int extent_0, extent_1, extent_2;

    // What rows and columns each add to the place of an element.
    struct Part {
        int64_t offset;
        int at_2, at_3;
        __device__ Part operator+(Part const& more) const {
            return {offset + more.offset, at_2 + more.at_2, at_3 + more.at_3};
        }
    };
    __device__ Part row(int row, int const* batch) const {
        int const at_2 = row / 2 % 2;  // P
        int const at_3 = row % 2;  // Q
        return {batch[0] * stride_0 + row / 4 * stride_1 + at_2 * stride_2 + at_3, at_2, at_3};
    }
    __device__ Part column(int column) const {
        int const at_2 = column / extent_0 * 2 - 1;  // P
        int const at_3 = column % extent_0 * 2;  // Q
        return {at_2 * stride_2 + at_3, at_2, at_3};
    }
    // Whether the output holds the element: it is not cut off.
    __device__ bool holds(Part const& at) const {
        return within(at.at_2, extent_1) && within(at.at_3, extent_2);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
cut_phases_1_kernel(__grid_constant__ CUtensorMap const map_w,
                    __grid_constant__ CUtensorMap const map_x,
                    __grid_constant__ Places const places_y,
                    __grid_constant__ Extents const extents,
                    __grid_constant__ WalkOrder const order,
                    __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_w, map_x}, places_y, map_w, extents, order, finish);
}
}  // namespace cut_phases_1

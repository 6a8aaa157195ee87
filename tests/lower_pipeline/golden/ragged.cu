#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 64, kTileN = 128, kTileK = 64, kStages = 8;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 1, kClusterN = 1;
    static constexpr bool kPingpong = true;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    StridedMatrix<bf16> r;

    struct Fetched {
        StridedMatrix<bf16>::Fetched r;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {r.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return acc + at.r.at(i);
    }
};

struct Places {
    static constexpr int kRowsTogether = 1, kStoredTogether = 1;
    static constexpr bool kRowsAdd = true, kColumnsAdd = true;
    bf16* data;
    int64_t stride_0;

    // What rows and columns each add to the place of an element.
    struct Part {
        int64_t offset;
        __device__ Part operator+(Part const& more) const {
            return {offset + more.offset};
        }
    };
    __device__ Part row(int row, int const* batch) const {
        return {row * stride_0};
    }
    __device__ Part column(int column) const {
        return {column};
    }
    // Whether the output holds the element: it is not cut off.
    __device__ bool holds(Part const&) const {
        return true;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
residual_kernel(__grid_constant__ CUtensorMap const map_x,
                __grid_constant__ CUtensorMap const map_w, __grid_constant__ Places const places_y,
                __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order,
                __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, places_y, map_x, extents, order, finish);
}

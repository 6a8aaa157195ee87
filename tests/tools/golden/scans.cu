// ---- masked: a block a row
#include "common/scan.cuh"

using namespace fact;

struct Arguments {
    Tensor<bool const, 2> mask;
    Tensor<bf16 const, 2> x;
    Tensor<bf16, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
masked_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockScan;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const value = [&](int64_t at) {
            int const n = static_cast<int>(at);
            bool const mask = widen(args.mask(m, n));
            float const x = widen(args.x(m, n));
            float const t0 = mask ? x : 0.f;
            return t0;
        };
        auto const store = [&](int64_t at, auto t0) {
            int const n = static_cast<int>(at);
            int const t1 = n;
            float const t2 = static_cast<float>(t1);
            float const t3 = 1.f + t2;
            float const y = F::divide(t0, t3);
            args.y(m, n) = narrow<bf16>(y);
        };
        Row::scan<Sum>(int64_t{args.N}, value, store);
    });
}

// ---- columns: a block 32 rows
#include "common/scan.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float, 2> s;
    Tensor<float, 3> y;
    int B, N, M;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
columns_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ColumnScan;
    Row::each_row(int64_t{args.B} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const b = static_cast<int>(row / args.N);
        auto const s = Row::reduce<Sum>(int64_t{args.M}, [&](int m) {
            float const x = widen(args.x(b, m, n));
            return x;
        });
        Row::once([&] {
            args.s(b, n) = narrow<float>(s);
        });
        auto const value = [&](int64_t at) {
            int const m = static_cast<int>(int64_t{args.M} - 1 - at);
            float const x = widen(args.x(b, m, n));
            float const t0 = F::divide(x, s);
            return t0;
        };
        auto const store = [&](int64_t at, auto y) {
            int const m = static_cast<int>(int64_t{args.M} - 1 - at);
            args.y(b, m, n) = narrow<float>(y);
        };
        Row::scan<Sum>(int64_t{args.M}, value, store);
    });
}

// ---- turned: a block a row
#include "common/scan.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    int M;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
turned_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockScan;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const value = [&](int64_t at) {
            int const c128 = static_cast<int>(int64_t{128} - 1 - at);
            float const x = widen(args.x(m, c128));
            return x;
        };
        auto const store = [&](int64_t at, auto t0) {
            int const c128 = static_cast<int>(int64_t{128} - 1 - at);
            args.y(m, c128) = narrow<float>(t0);
        };
        Row::scan<Sum>(int64_t{128}, value, store);
    });
}

// ---- both: a block a row
#include "common/scan.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float, 3> y;
    int M, G;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
both_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockScan;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const value = [&](int64_t at) {
            int const c4 = static_cast<int>((int64_t{args.G} * 4 - 1 - at) % 4);
            int const g = static_cast<int>((int64_t{args.G} * 4 - 1 - at) / 4);
            float const x = widen(args.x(m, g, c4));
            float const t0 = 1.f + x;
            return t0;
        };
        auto const store = [&](int64_t at, auto y) {
            int const c4 = static_cast<int>((int64_t{args.G} * 4 - 1 - at) % 4);
            int const g = static_cast<int>((int64_t{args.G} * 4 - 1 - at) / 4);
            args.y(m, g, c4) = narrow<float>(y);
        };
        Row::scan<Product>(int64_t{args.G} * 4, value, store);
    });
}

// ---- short: a thread a row
#include "common/scan.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    int M;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
short_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadScan;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const value = [&](int64_t at) {
            int const c16 = static_cast<int>(at);
            float const x = widen(args.x(m, c16));
            return x;
        };
        auto const store = [&](int64_t at, auto y) {
            int const c16 = static_cast<int>(at);
            args.y(m, c16) = narrow<float>(y);
        };
        Row::scan<Sum>(int64_t{16}, value, store);
    });
}

// ---- twice: a block a row
#include "common/scan.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace twice_0 {
struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
twice_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockScan;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const value = [&](int64_t at) {
            int const n = static_cast<int>(at);
            float const x = widen(args.x(m, n));
            return x;
        };
        auto const store = [&](int64_t at, auto t0) {
            int const n = static_cast<int>(at);
            args.y(m, n) = narrow<float>(t0);
        };
        Row::scan<Sum>(int64_t{args.N}, value, store);
    });
}
}  // namespace twice_0

namespace twice_1 {
struct Arguments {
    Tensor<float const, 2> t;
    Tensor<float, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
twice_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockScan;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const value = [&](int64_t at) {
            int const n = static_cast<int>(at);
            float const t = widen(args.t(m, n));
            return t;
        };
        auto const store = [&](int64_t at, auto t0) {
            int const n = static_cast<int>(at);
            args.y(m, n) = narrow<float>(t0);
        };
        Row::scan<Product>(int64_t{args.N}, value, store);
    });
}
}  // namespace twice_1

namespace twice_2 {
struct Arguments {
    Tensor<float const, 2> t;
    Tensor<float, 1> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
twice_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const y = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const t = widen(args.t(m, n));
            return t;
        });
        Row::once([&] {
            args.y(m) = narrow<float>(y);
        });
    });
}
}  // namespace twice_2

// ---- after_product: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a block a row
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/scan.cuh"

using namespace fact;

namespace after_product_0 {
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
        return F::sigmoid(acc);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
after_product_0_kernel(__grid_constant__ CUtensorMap const map_x,
                       __grid_constant__ CUtensorMap const map_w,
                       __grid_constant__ CUtensorMap const map_y,
                       __grid_constant__ Extents const extents,
                       __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, Finish{});
}
}  // namespace after_product_0

namespace after_product_1 {
struct Arguments {
    Tensor<float const, 2> t;
    Tensor<bf16, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
after_product_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockScan;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const value = [&](int64_t at) {
            int const n = static_cast<int>(at);
            float const t = widen(args.t(m, n));
            return t;
        };
        auto const store = [&](int64_t at, auto y) {
            int const n = static_cast<int>(at);
            args.y(m, n) = narrow<bf16>(y);
        };
        Row::scan<Sum>(int64_t{args.N}, value, store);
    });
}
}  // namespace after_product_1


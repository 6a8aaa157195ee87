#include "common/rows.cuh"
#include "common/strips.cuh"

using namespace fact;

namespace colours_0 {
struct Arguments {
    Tensor<float const, 4> w;
    Tensor<float, 5> y;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
colours_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{3} * 3 * 3 * 8 * 3, [&](int64_t row) {
        int const f3 = static_cast<int>(row % 3);
        int const g = static_cast<int>(row / 3 % 8);
        int const c = static_cast<int>(row / (int64_t{8} * 3) % 3);
        int const s = static_cast<int>(row / (int64_t{3} * 8 * 3) % 3);
        int const r = static_cast<int>(row / (int64_t{3} * 3 * 8 * 3));
        float const w = widen(args.w(g * 3 + f3, c, r, s));
        args.y(r, s, c, g, f3) = narrow<float>(w);
    });
}
}  // namespace colours_0

namespace colours_1 {
struct Arguments {
    Tensor<float const, 4> x;
    Tensor<float const, 5> t;
    Tensor<float const, 1> bias;
    Tensor<float, 4> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kRowThreads, 2)
colours_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    ThreadRow::each_row(args.B * 2 * 32 * 130, [&](int item) {
        int const q = item % 130;
        int const p = min(item / 130 % 32 * 4, 122);
        int const f3 = 0;
        int const g = item / 4160 % 2 * 4;
        int const b = item / 8320;
        Reduced<Sum, 4, 1> t0[12];
        #pragma unroll 1
        for (int c = 0; c < 3; ++c) {
            #pragma unroll
            for (int s = 0; s < 3; ++s) {
                int const h = p - 1;
                int const w = q + s - 1;
                Line<float, 1, 6> const x(&args.x(b, c, h, w), args.x.strides[2], h, 126, inside(w, 130), 0.f);
                #pragma unroll
                for (int r = 0; r < 3; ++r) {
                    auto const t1 = neighbours<12>(args.t(r, s, c, g, f3));
                    #pragma unroll
                    for (int feature = 0; feature < 12; ++feature) {
                        t0[feature].add([&](int place, int i) {
                            float const t2 = x.at(place + r, i);
                            float const t3 = t2 * t1[feature];
                            return t3;
                        });
                    }
                }
            }
        }
        auto* const y_first = &args.y(b, g * 3 + f3, p, q);
        #pragma unroll
        for (int feature = 0; feature < 12; ++feature) {
            float const bias = widen(args.bias((g + feature / 3) * 3 + feature % 3));
            #pragma unroll
            for (int place = 0; place < 4; ++place) {
                store_neighbours<1>(y_first[feature / 3 * args.y.strides[1] * 3 + feature % 3 * args.y.strides[1] + place * args.y.strides[2]], [&](int i) {
                    float const t1 = t0[feature].at(place, i) + bias;
                    return t1;
                });
            }
        }
    });
}
}  // namespace colours_1

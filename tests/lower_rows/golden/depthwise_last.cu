#include "common/strips.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 4> x;
    Tensor<bf16 const, 3> w;
    Tensor<bf16 const, 1> b;
    Tensor<bf16, 4> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kRowThreads, 2)
depthwise_last_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    ThreadRow::each_row(args.B * 30 * 8 * 8, [&](int item) {
        int const c = item % 8 * 8;
        int const q = min(item / 8 % 8 * 4, 26);
        int const p = item / 64 % 30;
        int const b_at = item / 1920;
        Reduced<Sum, 4, 8> t0;
        #pragma unroll
        for (int c3 = 0; c3 < 3; ++c3) {
            int const h = p + c3 - 1;
            int const w_at = q - 1;
            Line<bf16, 8, 6> const x(&args.x(b_at, h, w_at, c), args.x.strides[2], w_at, 30, inside(h, 30), 0.f);
            #pragma unroll
            for (int s = 0; s < 3; ++s) {
                auto const w = neighbours<8>(args.w(c3, s, c));
                t0.add([&](int place, int i) {
                    float const t1 = x.at(place + s, i);
                    float const t2 = t1 * w[i];
                    return t2;
                });
            }
        }
        auto* const y_first = &args.y(b_at, p, q, c);
        auto const b = neighbours<8>(args.b(c));
        #pragma unroll
        for (int place = 0; place < 4; ++place) {
            store_neighbours<8>(y_first[place * args.y.strides[2]], [&](int i) {
                float const t1 = t0.at(place, i) + b[i];
                return t1;
            });
        }
    });
}

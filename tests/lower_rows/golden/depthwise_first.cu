#include "common/strips.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 4> x;
    Tensor<bf16 const, 3> w;
    Tensor<bf16 const, 1> b;
    Tensor<bf16, 4> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
depthwise_first_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    ThreadRow::each_row(args.B * 64 * 4 * 30, [&](int item) {
        int const q = item % 30;
        int const p = min(item / 30 % 4 * 8, 22);
        int const c = item / 120 % 64;
        int const b_at = item / 7680;
        Reduced<Sum, 8, 1> t0;
        #pragma unroll
        for (int s = 0; s < 3; ++s) {
            int const h = p - 1;
            int const w_at = q + s - 1;
            Line<bf16, 1, 10> const x(&args.x(b_at, c, h, w_at), args.x.strides[2], h, 30, inside(w_at, 30), 0.f);
            #pragma unroll
            for (int c3 = 0; c3 < 3; ++c3) {
                t0.add([&](int place, int i) {
                    float const t1 = x.at(place + c3, i);
                    float const w = widen(args.w(c, c3, s));
                    float const t2 = t1 * w;
                    return t2;
                });
            }
        }
        auto* const y_first = &args.y(b_at, c, p, q);
        float const b = widen(args.b(c));
        #pragma unroll
        for (int place = 0; place < 8; ++place) {
            store_neighbours<1>(y_first[place * args.y.strides[2]], [&](int i) {
                float const t1 = t0.at(place, i) + b;
                return t1;
            });
        }
    });
}

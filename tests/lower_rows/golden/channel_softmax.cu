#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float const, 1> bias;
    Tensor<float, 3> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
channel_softmax_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ColumnRow;
    Row::each_row(args.B * 900, [&](int row) {
        int const p = row % 900;
        int const b = row / 900;
        auto const x = Row::hold<60>([&](int c) {
            return widen(args.x(b, c, p));
        });
        auto const t0 = Row::reduce<Max, 60>([&](int c) {
            float const bias = widen(args.bias(c));
            float const t1 = x(c) + bias;
            return t1;
        });
        auto const t1 = Row::hold<60>([&](int c) {
            float const bias = widen(args.bias(c));
            float const t2 = x(c) + bias;
            float const t3 = t2 - t0;
            float const t4 = F::exp(t3);
            return t4;
        });
        auto const t2 = Row::reduce<Sum, 60>([&](int c) {
            return t1(c);
        });
        Row::each<60>([&](int c) {
            float const t3 = F::divide(t1(c), t2);
            args.y(b, c, p) = narrow<float>(t3);
        });
    });
}

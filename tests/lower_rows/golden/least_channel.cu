#include "common/columns.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float const, 1> w;
    Tensor<float, 2> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kColumnThreads)
least_channel_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Rows = Columns<4>;
    Rows::each_row(args.B * 10000, [&](int row) {
        int const p = row % 10000;
        int const b = row / 10000;
        auto const w = neighbours<4>(args.w(p));
        auto const t0 = Rows::reduce<Min, 77>([&](int c) {
            auto const x = neighbours<4>(args.x(b, c, p));
            return Rows::values([&](int i) {
                float const t1 = x[i] * w[i];
                return t1;
            });
        });
        Rows::store(args.y(b, p), [&](int i) {
            float const t1 = t0[i] - w[i];
            float const t2 = F::tanh(t1);
            return t2;
        });
    });
}

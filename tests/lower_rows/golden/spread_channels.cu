#include "common/columns.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 4> x;
    Tensor<float const, 1> bias;
    Tensor<float, 4> y;
    Tensor<float, 2> most;
    int B;
};

extern "C" __global__ void __launch_bounds__(kColumnThreads)
spread_channels_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Rows = Columns<1>;
    Rows::each_row(args.B * 1001, [&](int row) {
        int const p = row % 1001;
        int const b = row / 1001;
        auto const x = Rows::hold<120>([&](int at) {
            int const s = at % 5;
            int const c = at / 5;
            return neighbours<1>(args.x(b, c, s, p));
        });
        auto const t0 = Rows::values([&](int i) {
            int const t1 = p;
            float const t2 = static_cast<float>(t1);
            return t2;
        });
        auto const t1 = Rows::hold<120>([&](int at) {
            int const c = at / 5;
            float const bias = widen(args.bias(c));
            return Rows::values([&](int i) {
                float const t2 = x(at)[i] + bias;
                float const t3 = t2 + t0[i];
                return t3;
            });
        });
        auto const t2 = Rows::reduce_held<Max, 120>([&](int at) {
            return Rows::values([&](int i) { return t1(at)[i]; });
        });
        auto const t3 = Rows::hold<120>([&](int at) {
            return Rows::values([&](int i) {
                float const t4 = t1(at)[i] - t2[i];
                float const t5 = F::exp(t4);
                return t5;
            });
        });
        auto const t4 = Rows::reduce_held<Sum, 120>([&](int at) {
            return Rows::values([&](int i) { return t3(at)[i]; });
        });
        Rows::store(args.most(b, p), [&](int i) { return t2[i]; });
        auto const divisor = Rows::values([&](int i) { return Divisor(t4[i]); });
        auto const to = [&](int at) -> auto& {
            int const s = at % 5;
            int const c = at / 5;
            return args.y(b, c, s, p);
        };
        Rows::write<120>(to, [&](int at) {
            return Rows::values([&](int i) {
                float const t5 = F::divide(t3(at)[i], divisor[i]);
                return t5;
            });
        });
    });
}

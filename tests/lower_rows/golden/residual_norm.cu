#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<bf16 const, 2> r;
    Tensor<float const, 1> w;
    Tensor<bf16, 2> s;
    Tensor<bf16, 2> y;
    int M;
};

// 4096 elements, 8 at a time by each of 256 threads, the next row on its way meanwhile.
using Row = VectorRow<4096, 8, 256, true>;

struct Inputs {
    Row::Share<bf16> x;
    Row::Share<bf16> r;

    __device__ void load(Arguments const& args, int m) {
        x.load<16>(&args.x(m, 0));
        r.load<16>(&args.r(m, 0));
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
residual_norm_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    Row team;
    Row::each<Inputs>(args, args.M, [&](int m, Inputs const& in) {
        Row::Repeated<float, 16> const w_row{&args.w(0), m};
        auto const t0 = Row::values([&](int i) {
            float const x = in.x[i];
            float const r = in.r[i];
            float const t1 = x + r;
            float const t2 = rounded<bf16>(t1);
            return t2;
        });
        Row::store<16>(&args.s(m, 0), [&](int i) {
            return t0[i];
        });
        auto const t1 = team.reduce<Sum>([&](int i) {
            return t0[i];
        });
        int const t2 = 4096;
        float const t3 = F::divide(t1, static_cast<float>(t2));
        auto const t4 = team.reduce<Sum>([&](int i) {
            float const t5 = t0[i] - t3;
            float const t6 = t5 * t5;
            return t6;
        });
        int const t5 = 4096;
        float const t6 = F::divide(t4, static_cast<float>(t5));
        float const t7 = t6 + 1e-05f;
        float const t8 = F::rsqrt(t7);
        Row::store<16>(&args.y(m, 0), [&](int i) {
            float const w = w_row[i];
            float const t9 = t0[i] - t3;
            float const t10 = t9 * t8;
            float const t11 = t10 * w;
            return t11;
        });
    });
}

#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<bf16, 2> y;
    int M;
};

// 512 elements, 8 at a time by each of 32 threads, the next row on its way meanwhile.
using Row = VectorRow<512, 8, 32, true>;

struct Inputs {
    Row::Share<bf16> x;

    __device__ void load(Arguments const& args, int m) {
        x.load<16>(&args.x(m, 0));
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
softmax_512_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    Row team;
    Row::each<Inputs>(args, args.M, [&](int m, Inputs const& in) {
        auto const t0 = team.reduce<Max>([&](int i) {
            float const x = in.x[i];
            return x;
        });
        auto const t1 = Row::values([&](int i) {
            float const x = in.x[i];
            float const t2 = x - t0;
            float const t3 = F::exp(t2);
            return t3;
        });
        auto const t2 = team.reduce<Sum>([&](int i) {
            return t1[i];
        });
        Row::store<16>(&args.y(m, 0), [&](int i) {
            float const t3 = F::divide(t1[i], t2);
            return t3;
        });
    });
}

#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float const, 0> alpha;
    Tensor<bf16, 2> y;
    int M;
};

// 1000 elements, 8 at a time by each of 128 threads.
using Row = VectorRow<1000, 8, 128, false>;

struct Inputs {
    Row::Share<float> x;

    __device__ void load(Arguments const& args, int m) {
        x.load<16>(&args.x(m, 0));
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
causal_scale_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    Row::each<Inputs>(args, args.M, [&](int m, Inputs const& in) {
        float const alpha = widen(args.alpha());
        int const t0 = m;
        Row::store<16>(&args.y(m, 0), [&](int i) {
            float const x = in.x[i];
            int const t1 = Row::place(i);
            bool const t2 = t0 >= t1;
            float const t3 = x * alpha;
            float const t4 = t2 ? t3 : 0.f;
            return t4;
        });
    });
}

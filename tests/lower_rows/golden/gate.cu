#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float const, 0> alpha;
    Tensor<bf16, 2> y;
    Tensor<float, 2> scaled;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
gate_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const m = static_cast<int>(row / args.N);
        float const x = widen(args.x(m, n));
        float const alpha = widen(args.alpha());
        float const t0 = x * alpha;
        int const t1 = n;
        int const t2 = m;
        bool const t3 = t2 >= t1;
        float const t4 = F::silu(t0);
        float const t5 = t3 ? t4 : 0.f;
        args.y(m, n) = narrow<bf16>(t5);
        args.scaled(m, n) = narrow<float>(t0);
    });
}

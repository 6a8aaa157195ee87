#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<bf16, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
softmax_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Max>(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            return x;
        });
        auto const t1 = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            float const t2 = x - t0;
            float const t3 = F::exp(t2);
            return t3;
        });
        Row::each(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            float const t2 = x - t0;
            float const t3 = F::exp(t2);
            float const t4 = F::divide(t3, t1);
            args.y(m, n) = narrow<bf16>(t4);
        });
    });
}

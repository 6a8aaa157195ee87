#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<int64_t const, 2> t;
    Tensor<int64_t const, 1> start;
    Tensor<bf16, 2> y;
    Tensor<int64_t, 1> latest;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
since_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Max>(int64_t{args.N}, [&](int n) {
            int64_t const t1 = widen(args.t(m, n));
            return t1 + 0;
        });
        int64_t const start = widen(args.start(m));
        int const t1 = m;
        int const t2 = t1 < 0 ? -t1 : t1;
        int64_t const t3 = ::max(t0, int64_t{t2});
        Row::once([&] {
            args.latest(m) = narrow<int64_t>(t3);
        });
        Row::each(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            int64_t const t4 = widen(args.t(m, n));
            bool const t5 = t4 >= start;
            float const t6 = t5 ? x : 0.f;
            args.y(m, n) = narrow<bf16>(t6);
        });
    });
}

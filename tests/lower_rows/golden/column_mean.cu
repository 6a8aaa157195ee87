#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float, 1> y;
    int N, M;
};

extern "C" __global__ void __launch_bounds__(kRowThreads, ColumnRow::kBlocks)
column_mean_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ColumnRow;
    Row::each_row(int64_t{args.N}, [&](int64_t row) {
        int const n = static_cast<int>(row);
        auto const t0 = Row::reduce<Sum>(int64_t{args.M}, [&](int m) {
            float const x = widen(args.x(m, n));
            return x;
        });
        int const t1 = args.M;
        float const t2 = F::divide(t0, static_cast<float>(t1));
        Row::once([&] {
            args.y(n) = narrow<float>(t2);
        });
    });
}

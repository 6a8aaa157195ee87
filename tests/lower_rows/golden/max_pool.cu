#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<half const, 2> x;
    Tensor<half, 2> y;
    int M, P;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
max_pool_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<half>;
    using Row = ThreadRow;
    int64_t const rows = int64_t{args.M} * args.P;
    for (int64_t row = Row::first(); row < rows; row += int64_t{gridDim.x} * Row::kRows) {
        int const p = static_cast<int>(row % args.P);
        int const m = static_cast<int>(row / args.P);
        auto const t0 = Row::reduce<Max>(int64_t{4}, [&](int c4) {
            float const x = widen(args.x(m, p * 4 + c4));
            return x;
        });
        Row::once([&] {
            args.y(m, p) = narrow<half>(t0);
        });
    }
}

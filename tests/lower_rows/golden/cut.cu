#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
cut_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(args.B * 98, [&](int row) {
        int const p = row % 98;
        int const b = row / 98;
        auto const t0 = Row::reduce<Max, 1>([&](int c1) {
            int const i_2 = p + c1 + 1;
            int const c2 = i_2 % 2;
            int const i = i_2 / 2;
            float const t1 = widen(args.x(b, i * 2 + c2));
            return t1;
        });
        Row::once([&] {
            args.y(b, p) = narrow<float>(t0);
        });
    });
}

// ---- scaled: a thread a row; a block a row
#include "common/rows.cuh"

using namespace fact;

namespace scaled_0 {
struct Arguments {
    Tensor<float const, 0> alpha;
    Tensor<float const, 1> x;
    Tensor<float const, 0> beta;
    Tensor<float, 1> y;
    int M;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
scaled_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        float const alpha = widen(args.alpha());
        float const x = widen(args.x(m));
        float const t0 = alpha * x;
        float const beta = widen(args.beta());
        float const y = t0 + beta;
        args.y(m) = narrow<float>(y);
    });
}
}  // namespace scaled_0

namespace scaled_1 {
struct Arguments {
    Tensor<float const, 0> alpha;
    Tensor<float const, 1> x;
    Tensor<float const, 0> beta;
    Tensor<float, 0> total;
    int M;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
scaled_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(1, [&](int64_t row) {
        float const alpha = widen(args.alpha());
        float const beta = widen(args.beta());
        auto const t0 = Row::reduce<Sum>(int64_t{args.M}, [&](int m) {
            float const x = widen(args.x(m));
            float const t1 = alpha * x;
            float const y = t1 + beta;
            return y;
        });
        float const total = t0 * static_cast<float>(2);
        Row::once([&] {
            args.total() = narrow<float>(total);
        });
    });
}
}  // namespace scaled_1


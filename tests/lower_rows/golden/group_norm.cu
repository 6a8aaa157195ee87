#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float const, 1> w;
    Tensor<float, 3> y;
    int M, D, S;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
group_norm_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M} * 8, [&](int64_t row) {
        int const c8 = static_cast<int>(row % 8);
        int const m = static_cast<int>(row / 8);
        auto const t0 = Row::reduce<Sum>(int64_t{args.D} * args.S, [&](int64_t at) {
            int const s = static_cast<int>(at % args.S);
            int const d = static_cast<int>(at / args.S);
            float const x = widen(args.x(m, c8 * args.D + d, s));
            return x;
        });
        int const t1 = args.S;
        int const t2 = args.D;
        int const t3 = t2 * t1;
        float const t4 = F::divide(t0, static_cast<float>(t3));
        auto const t5 = Row::reduce<Sum>(int64_t{args.D} * args.S, [&](int64_t at) {
            int const s = static_cast<int>(at % args.S);
            int const d = static_cast<int>(at / args.S);
            float const x = widen(args.x(m, c8 * args.D + d, s));
            float const t6 = x - t4;
            float const t7 = t6 * t6;
            return t7;
        });
        float const t6 = F::divide(t5, static_cast<float>(t3));
        float const t7 = t6 + 1e-05f;
        float const t8 = F::rsqrt(t7);
        Row::each(int64_t{args.D} * args.S, [&](int64_t at) {
            int const s = static_cast<int>(at % args.S);
            int const d = static_cast<int>(at / args.S);
            float const x = widen(args.x(m, c8 * args.D + d, s));
            float const w = widen(args.w(c8 * args.D + d));
            float const t9 = x - t4;
            float const t10 = t9 * t8;
            float const t11 = t10 * w;
            args.y(m, c8 * args.D + d, s) = narrow<float>(t11);
        });
    });
}

// ---- operators: a thread a row
#include "common/rows.cuh"

using namespace fact;

namespace operators_0 {
struct Arguments {
    Tensor<int32_t const, 1> i;
    Tensor<int32_t, 1> k;
    int N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
operators_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.N}, [&](int64_t row) {
        int const n = static_cast<int>(row);
        int const i = widen(args.i(n));
        float const t0 = static_cast<float>(i);
        int const t1 = static_cast<int>(t0);
        int const t2 = t1 * -3;
        int const t3 = args.N;
        int const k = t2 + t3;
        args.k(n) = narrow<int32_t>(k);
    });
}
}  // namespace operators_0

namespace operators_1 {
struct Arguments {
    Tensor<bool const, 2> m;
    Tensor<float const, 2> x;
    Tensor<float, 2> y;
    Tensor<bool, 2> b;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
operators_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const m_at = static_cast<int>(row / args.N);
        bool const m = widen(args.m(m_at, n));
        bool const t0 = !m;
        int const t1 = n;
        int const t2 = m_at;
        bool const t3 = t1 <= t2;
        float const x = widen(args.x(m_at, n));
        bool const t4 = x != 0.5f;
        bool const t5 = t3 && t4;
        bool const t6 = t0 || t5;
        float const t7 = -x;
        float const t8 = t7 * 0.5f;
        float const t9 = x * x;
        float const t10 = t9 - INFINITY;
        float const y = t6 ? t8 : t10;
        bool const b = m == true;
        args.y(m_at, n) = narrow<float>(y);
        args.b(m_at, n) = narrow<bool>(b);
    });
}
}  // namespace operators_1

// ---- composites: a thread a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float const, 1> mean;
    Tensor<float const, 1> var;
    Tensor<float, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
composites_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const m = static_cast<int>(row / args.N);
        float const x = widen(args.x(m, n));
        bool const t0 = x > 0.f;
        float const t1 = x * 0.01f;
        float const t2 = t0 ? x : t1;
        bool const t3 = x > 0.f;
        float const t4 = x * 0.2f;
        float const t5 = t3 ? x : t4;
        float const t6 = t2 + t5;
        bool const t7 = x > 0.f;
        float const t8 = F::expm1(x);
        float const t9 = 0.5f * t8;
        float const t10 = t7 ? x : t9;
        float const a = t6 + t10;
        float const t11 = F::max(a, 0.f);
        float const t12 = F::min(t11, 6.f);
        float const t13 = F::max(a, -1.f);
        float const t14 = F::min(t13, 1.f);
        float const t15 = t12 + t14;
        float const t16 = a + 3.f;
        float const t17 = F::max(t16, 0.f);
        float const t18 = F::min(t17, 6.f);
        float const t19 = F::divide(t18, 6.f);
        float const t20 = t15 + t19;
        float const t21 = a + 3.f;
        float const t22 = F::max(t21, 0.f);
        float const t23 = F::min(t22, 6.f);
        float const t24 = a * t23;
        float const t25 = F::divide(t24, 6.f);
        float const c = t20 + t25;
        float const mean = widen(args.mean(n));
        float const var = widen(args.var(n));
        float const t26 = c - mean;
        float const t27 = var + 0.001f;
        float const t28 = F::rsqrt(t27);
        float const y = t26 * t28;
        args.y(m, n) = narrow<float>(y);
    });
}


#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 2> x;
    Tensor<float const, 2> cosine;
    Tensor<float const, 2> sine;
    Tensor<float, 2> y;
    int T, H, rows;
};

// 128 elements, 4 at a time by each of 16 threads.
using Row = VectorRow<128, 4, 16, false>;

struct Inputs {
    Row::Share<float> x;

    __device__ void load(Arguments const& args, int row) {
        int const h = row % args.H;
        int const t = row / args.H;
        x.load<16>(&args.x(t, (h * 64) * 2));
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
rotary_pairs_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    Row::each<Inputs>(args, args.rows, [&](int row, Inputs const& in) {
        int const h = row % args.H;
        int const t = row / args.H;
        Row::store<16>(&args.y(t, (h * 64) * 2), [&](int i) {
            float const x = in.x[i];
            float const t1 = in.x[i + 1 - 2 * (i % 2)];
            float const cosine = widen(args.cosine(t, Row::place(i) / 2));
            float const sine = widen(args.sine(t, Row::place(i) / 2));
            int const t2 = Row::place(i) % 2;
            bool const t3 = t2 == 0;
            float const t4 = t3 ? -1.f : 1.f;
            float const t5 = t1 * t4;
            float const t6 = x * cosine;
            float const t7 = t5 * sine;
            float const t8 = t6 + t7;
            return t8;
        });
    });
}

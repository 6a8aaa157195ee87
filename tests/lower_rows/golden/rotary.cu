#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 4> x;
    Tensor<bf16 const, 2> c2;
    Tensor<bf16 const, 2> sine;
    Tensor<bf16, 4> y;
    int T, H, rows;
};

// 64 elements, 8 at a time by each of 8 threads.
using Row = VectorRow<64, 8, 8, false>;

struct Inputs {
    Row::Share<bf16> x;
    Row::Share<bf16> x_flipped_2;
    Row::Share<bf16> c2;
    Row::Share<bf16> sine;

    __device__ void load(Arguments const& args, int row) {
        int const c2_at = row % 2;
        int const h = row / 2 % args.H;
        int const t = row / (args.H * 2);
        x.load<16>(&args.x(t, h, c2_at, 0));
        x_flipped_2.load<16>(&args.x(t, h, 1 - c2_at, 0));
        c2.load<16>(&args.c2(t, c2_at * 64), row);
        sine.load<16>(&args.sine(t, c2_at * 64), row);
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
rotary_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    Row::each<Inputs>(args, args.rows, [&](int row, Inputs const& in) {
        int const c2_at = row % 2;
        int const h = row / 2 % args.H;
        int const t = row / (args.H * 2);
        int const t1 = c2_at;
        bool const t2 = t1 == 0;
        float const t3 = t2 ? -1.f : 1.f;
        Row::store<16>(&args.y(t, h, c2_at, 0), [&](int i) {
            float const x = in.x[i];
            float const t4 = in.x_flipped_2[i];
            float const c2 = in.c2[i];
            float const sine = in.sine[i];
            float const t5 = t4 * t3;
            float const t6 = x * c2;
            float const t7 = t5 * sine;
            float const t8 = t6 + t7;
            return t8;
        });
    });
}

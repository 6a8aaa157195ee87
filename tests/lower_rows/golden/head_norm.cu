#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<half const, 3> x;
    Tensor<half, 4> y;
    Tensor<float, 3> norm;
    int B, M, H, rows;
};

// 64 elements, 8 at a time by each of 4 threads, the next row on its way meanwhile.
using Row = VectorRow<64, 8, 4, true>;

struct Inputs {
    Row::Share<half> x;

    __device__ void load(Arguments const& args, int row) {
        int const h = row % args.H;
        int const m = row / args.H % args.M;
        int const b = row / (args.M * args.H);
        x.load<16>(&args.x(b, m, h * 64));
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
head_norm_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    Row team;
    Row::each<Inputs>(args, args.rows, [&](int row, Inputs const& in) {
        int const h = row % args.H;
        int const m = row / args.H % args.M;
        int const b = row / (args.M * args.H);
        auto const t0 = team.reduce<Sum>([&](int i) {
            float const x = in.x[i];
            float const t1 = x * x;
            return t1;
        });
        float const t1 = F::rsqrt(t0);
        Row::store<16>(&args.y(b, m, h, 0), [&](int i) {
            float const x = in.x[i];
            float const t2 = x * t1;
            return t2;
        });
        Row::once([&] {
            args.norm(b, m, h) = narrow<float>(t0);
        });
    });
}

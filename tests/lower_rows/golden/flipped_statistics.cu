#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 3> x;
    Tensor<float, 3> y;
    int T, rows;
};

// 64 elements, 4 at a time by each of 8 threads, the next row on its way meanwhile.
using Row = VectorRow<64, 4, 8, true>;

struct Inputs {
    Row::Share<float> x_flipped_2;

    __device__ void load(Arguments const& args, int row) {
        int const c2 = row % 2;
        int const t = row / 2;
        x_flipped_2.load<16>(&args.x(t, 1 - c2, 0));
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
flipped_statistics_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    Row team;
    Row::each<Inputs>(args, args.rows, [&](int row, Inputs const& in) {
        int const c2 = row % 2;
        int const t = row / 2;
        auto const t1 = team.reduce<Max>([&](int i) {
            float const t2 = in.x_flipped_2[i];
            return t2;
        });
        int const t2 = 1 - c2;
        Row::store<16>(&args.y(t, c2, 0), [&](int i) {
            float const t3 = in.x_flipped_2[i];
            float const t4 = t3 - t1;
            float const t5 = t4 * static_cast<float>(t2);
            return t5;
        });
    });
}

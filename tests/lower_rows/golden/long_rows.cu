#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float const, 1> bias;
    Tensor<bf16, 2> y;
    int M, rows;
};

// 768 elements, 8 at a time by each of 96 threads.
using Row = VectorRow<768, 8, 96, false>;

struct Inputs {
    Row::Share<bf16> x;
    Row::Share<float> bias;

    __device__ void load(Arguments const& args, int row) {
        int const c167 = row % 167;
        int const m = row / 167;
        x.load<16>(&args.x(m, c167 * 768));
        bias.load<16>(&args.bias(c167 * 768), row);
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
long_rows_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    Row::each<Inputs>(args, args.rows, [&](int row, Inputs const& in) {
        int const c167 = row % 167;
        int const m = row / 167;
        int const t0 = m;
        Row::store<16>(&args.y(m, c167 * 768), [&](int i) {
            float const x = in.x[i];
            float const bias = in.bias[i];
            int const t1 = c167 * 768 + Row::place(i);
            bool const t2 = t0 >= t1;
            float const t3 = x + bias;
            float const t4 = t2 ? t3 : 0.f;
            return t4;
        });
    });
}

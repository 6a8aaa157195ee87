#include "common/turned.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 4> x;
    Tensor<bf16 const, 1> b;
    Tensor<bf16 const, 4> r;
    Tensor<bf16, 4> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kTurnedThreads, kTurnedBlocks)
channels_last_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    auto const value = [&](int batch, int row, int column) -> float {
        int const b_at = batch;
        int const w = column % 28;
        int const h = column / 28;
        return widen(args.x(b_at, row, h, w));
    };
    auto const finish = [&](int batch, int row, int column, float x) -> float {
        int const b_at = batch;
        int const w = column % 28;
        int const h = column / 28;
        float const b = widen(args.b(row));
        float const t0 = x + b;
        float const r = widen(args.r(b_at, h, w, row));
        float const t1 = F::relu(t0);
        float const t2 = t1 + r;
        return t2;
    };
    auto const store = [&](int batch, int row, int column, float value) {
        int const b_at = batch;
        int const w = column % 28;
        int const h = column / 28;
        args.y(b_at, h, w, row) = narrow<bf16>(value);
    };
    turned<32>(args.B, 96, 28 * 28, value, finish, store);
}

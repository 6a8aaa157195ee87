#include "common/turned.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 4> x;
    Tensor<bf16 const, 1> b;
    Tensor<bf16 const, 4> r;
    Tensor<bf16, 4> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kTurnedThreads, kFinishingBlocks)
channels_last_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    auto const source = [&](int batch, int row, int column) -> auto& {
        int const b_at = batch;
        int const w = column % 28;
        int const h = column / 28;
        return args.x(b_at, row, h, w);
    };
    auto const finish = [&](int batch, int row, int column) {
        int const b_at = batch;
        int const w = column % 28;
        int const h = column / 28;
        auto const b = neighbours<8>(args.b(row));
        auto const r = neighbours<8>(args.r(b_at, h, w, row));
        return [=](int i, float x) -> float {
            float const t0 = x + b[i];
            float const t1 = F::relu(t0);
            float const t2 = t1 + r[i];
            return t2;
        };
    };
    auto const place = [&](int batch, int row, int column) -> auto& {
        int const b_at = batch;
        int const w = column % 28;
        int const h = column / 28;
        return args.y(b_at, h, w, row);
    };
    turned<TurnedTile<32, 4, 8>>(args.B, 96, 28 * 28, source, AsRead{}, finish, place);
}

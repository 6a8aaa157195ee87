#include "common/turned.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 4> x;
    Tensor<float const, 1> mean;
    Tensor<float const, 1> inverse;
    Tensor<float const, 1> gain;
    Tensor<float const, 1> shift;
    Tensor<float const, 1> divisor;
    Tensor<half, 4> y;
    int B;
};

extern "C" __global__ void __launch_bounds__(kTurnedThreads, kTurnedBlocks)
normalised_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<half>;
    auto const source = [&](int batch, int row, int column) -> auto& {
        int const b = batch;
        int const w = column % 56;
        int const h = column / 56;
        return args.x(b, row, h, w);
    };
    auto const value = [&](int batch, int row, int column, auto x) -> float {
        float const mean = widen(args.mean(row));
        float const t0 = x - mean;
        float const inverse = widen(args.inverse(row));
        float const t1 = t0 * inverse;
        float const gain = widen(args.gain(row));
        float const t2 = t1 * gain;
        float const shift = widen(args.shift(row));
        float const t3 = t2 + shift;
        float const t4 = F::relu(t3);
        float const divisor = widen(args.divisor(row));
        float const t5 = F::reciprocal(divisor);
        float const t6 = t4 * t5;
        return t6;
    };
    auto const place = [&](int batch, int row, int column) -> auto& {
        int const b = batch;
        int const w = column % 56;
        int const h = column / 56;
        return args.y(b, h, w, row);
    };
    turned<TurnedTile<64, 4, 8>>(args.B, 64, 56 * 56, source, value, as_turned, place);
}

#include "common/vector_rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<int64_t const, 2> t;
    Tensor<int64_t const, 1> start;
    Tensor<bf16, 2> y;
    Tensor<int64_t, 1> latest;
    int M;
};

// 512 elements, 8 at a time by each of 64 threads, the next row on its way meanwhile.
using Row = VectorRow<512, 8, 64, true>;

struct Inputs {
    Row::Share<bf16> x;
    Row::Share<int64_t> t;

    __device__ void load(Arguments const& args, int m) {
        x.load<16>(&args.x(m, 0));
        t.load<16>(&args.t(m, 0));
    }
};

extern "C" __global__ void __launch_bounds__(Row::kBlock)
since_512_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    Row team;
    Row::each<Inputs>(args, args.M, [&](int m, Inputs const& in) {
        int64_t const start = widen(args.start(m));
        Row::store<16>(&args.y(m, 0), [&](int i) {
            float const x = in.x[i];
            int64_t const t = in.t[i];
            bool const t1 = t >= start;
            float const t2 = t1 ? x : 0.f;
            return t2;
        });
        auto const t0 = team.reduce<Max>([&](int i) {
            int64_t const t1 = in.t[i];
            return t1 + 0;
        });
        int const t1 = m;
        int const t2 = t1 < 0 ? -t1 : t1;
        int64_t const t3 = ::max(t0, int64_t{t2});
        Row::once([&] {
            args.latest(m) = narrow<int64_t>(t3);
        });
    });
}

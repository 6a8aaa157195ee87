// The epilogue of an f32 product, whose sums still contain the scales of B's rows.
#pragma once

#include "epilogue.cuh"
#include "f16_parts.cuh"

namespace fact::sm90 {

// Which of B's matrices is used at these coordinates of the batch; B may lack some dimensions.
template <class Config, int kBatches>
__device__ int batch_of_b(int const (&at)[kBatches], ExtentsOf<kBatches> const& extents) {
    int batch = 0;
#pragma unroll
    for (int i = 0; i < kBatches; ++i)
        if (Config::kBatchB >> i & 1) batch = batch * extents.batch[i] + at[i];
    return batch;
}

// Undoes the scales of B's rows, fetched like an operand, and then applies the kernel's functor.
template <class Config, class Functor>
struct UnscaledFunctor {
    static constexpr int kFlip = sm90::kFlip<Functor>;  // no kPeriod: every column has its scale
    Functor const& functor;
    RowScalesOfB scales;

    // The inverse scales of a lane's columns of a slab.
    struct Down {
        float2 values[kSlabColumns / 8];
        __device__ float at(int i) const { return i % 2 ? values[i / 4].y : values[i / 4].x; }
    };
    struct Fetched {
        typename Functor::Fetched own;
        Down down, flipped;  // flipped: of the columns they change places with
    };
    template <int kBatches>
    __device__ Fetched fetch(SlabOf<kBatches> const& slab) const {
        return with_scales(functor.fetch(slab), slab);
    }
    template <int kBatches>
    __device__ Fetched fetch_right(SlabOf<kBatches> const& slab, Fetched const& left) const {
        return with_scales(sm90::fetch_right(functor, slab, left.own), slab);
    }
    __device__ void read_staged(Fetched& at, unsigned char const* box, int lane, int first) const {
        functor.read_staged(at.own, box, lane, first);
    }
    template <int kBatches>
    __device__ float operator()(float sum, Fetched const& at, SlabOf<kBatches> const& slab,
                                int i) const {
        return functor(sum * at.down.at(i), at.own, slab, i);
    }
    template <int kBatches>
    __device__ float operator()(float sum, float flipped, Fetched const& at,
                                SlabOf<kBatches> const& slab, int i) const {
        return functor(sum * at.down.at(i), flipped * at.flipped.at(i), at.own, slab, i);
    }

  private:
    template <int kBatches>
    __device__ Fetched with_scales(typename Functor::Fetched const& of_functor,
                                   SlabOf<kBatches> const& slab) const {
        Fetched fetched{of_functor, {}, {}};
        float const* of_batch = scales.data + batch_of_b<Config>(slab.batch, slab.extents) *
                                                  RowScalesOfB::pitch(slab.extents.n);
#pragma unroll
        for (int g = 0; g < kSlabColumns / 8; ++g) {
            int const column = slab.column + 8 * g;
            if (column < slab.extents.n)
                fetched.down.values[g] = *reinterpret_cast<float2 const*>(of_batch + column);
            if constexpr (kFlip == 1) {
                float2 const own = fetched.down.values[g];
                fetched.flipped.values[g] = make_float2(own.y, own.x);
            } else if constexpr (kFlip > 1) {
                int const other = column + (column / kFlip % 2 == 0 ? kFlip : -kFlip);
                if (other < slab.extents.n)
                    fetched.flipped.values[g] = *reinterpret_cast<float2 const*>(of_batch + other);
            }
        }
        return fetched;
    }
};

}  // namespace fact::sm90

// How much of q, k and v a thread block of attention holds, and how it is copied there.
#pragma once

#include <cstdint>

#include "../common/operands.cuh"
#include "operand_tile.cuh"

namespace fact::sm80 {

template <class Config>
struct AttentionShapes {
    using Element = typename Config::Element;
    static constexpr int kWarps = 4, kThreads = 32 * kWarps;
    static constexpr int kRows = Config::kRows, kColumns = Config::kColumns;
    static constexpr int kWarpRows = kRows / kWarps, kRowGroups = kWarpRows / 16;
    // Groups of 16 features: kSteps of q and k (a score is a sum over them), kWide of v.
    static constexpr int kSteps = (Config::kDepth + 15) / 16, kWide = (Config::kWidth + 15) / 16;
    // A slab is 64 features wide: 128 bytes per row, which span all banks.
    static constexpr int kSlabs = (kSteps + 3) / 4, kWideSlabs = (kWide + 3) / 4;
    using RowSlab = StageLayout<Element, Major::k, kRows, 64>;
    using KeySlab = StageLayout<Element, Major::k, kColumns, 64>;
    using ValueSlab = StageLayout<Element, Major::mn, 64, kColumns>;
    static constexpr int kQBytes = kSlabs * RowSlab::kBytes;
    static constexpr int kKBytes = kSlabs * KeySlab::kBytes;
    static constexpr int kStageBytes = kKBytes + kWideSlabs * ValueSlab::kBytes;
    // A warp's values: the first dimension is its groups of 16 rows of q.
    using Scores = float[kRowGroups][kColumns / 2];
    using Sums = float[kRowGroups][kWide * 8];
};

// Copies kRows rows of kFeatures at a time into slabs; a thread copies the same 16 bytes of each
// slab. Rows beyond the tensor read as zeros, and so do features that pad the last group of 16.
// Addresses and strides are multiples of 16 bytes (the launch record requires it).
template <class Slab, int kRows, int kFeatures, int kThreads>
struct RowCopier {
    using Element = typename Slab::Element;
    static constexpr int kPerCopy = 16 / sizeof(Element), kPerSlab = 64;
    static constexpr int kAtOnce = kThreads * kPerCopy / kPerSlab, kPasses = kRows / kAtOnce;
    static constexpr int kRead = (kFeatures + 15) / 16 * 16;  // features with their padding
    // kAtOnce % 8 == 0: chunks are swizzled in the same way in every pass.
    static_assert(kAtOnce % 8 == 0 && kRows % kAtOnce == 0 && kFeatures % kPerCopy == 0);

    Element const* from;  // the thread's first element of the next rows
    int64_t stride;
    int left;  // rows of the tensor that remain, from there on

    template <int kBatches>
    __device__ RowCopier(Source<Element, kBatches> const& source, int const (&batch)[kBatches],
                         int first, int rows)
        : from(source.data + batch_offset(batch, source.batch_strides) +
               (first + row()) * source.outer_stride + feature()),
          stride(source.outer_stride),
          left(rows - first - row()) {}

    __device__ void copy(unsigned char* slabs) {
        unsigned char* const to = slabs + Slab::offset(row(), feature());
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass)
#pragma unroll
            for (int first = 0; first < kRead; first += kPerSlab)
                if (first + kPerSlab <= kRead || first + feature() < kRead)
                    copy_async<16>(
                        to + first / kPerSlab * Slab::kBytes + pass * kAtOnce * Slab::kRowBytes,
                        from + pass * kAtOnce * stride + first,
                        pass * kAtOnce < left && first + feature() < kFeatures);
        from += kRows * stride;
        left -= kRows;
    }

  private:
    __device__ static int row() { return threadIdx.x * kPerCopy / kPerSlab; }
    __device__ static int feature() { return threadIdx.x * kPerCopy % kPerSlab; }
};

}  // namespace fact::sm80

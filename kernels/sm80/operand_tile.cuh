// Copying an operand's tiles from memory to the stages.
#pragma once

#include <cstdint>

#include "../common/operands.cuh"
#include "instructions.cuh"
#include "stage_layout.cuh"

namespace fact::sm80 {

// Where an operand of the product is in memory; `outer` is along M or N. A batch dimension that the
// operand lacks has stride 0.
template <class T, int kBatches = 2>
struct Source {
    T const* data;
    int64_t outer_stride, k_stride, batch_strides[kBatches];
};

// Copies an operand's tiles into stages, one k-tile after another: a thread copies the same
// positions of each tile, kCopyBytes at a time. Addresses, strides and rows are multiples of
// kCopyBytes (the launch record requires it), so that a copy is wholly inside the tensor or
// wholly outside. Copies of single elements need nothing to be contiguous.
template <class Layout, int kCopyBytes, int kThreads>
struct TileCopier {
    using Element = typename Layout::Element;
    static constexpr bool kAlongK = Layout::kMajor == Major::k;
    static constexpr int kPerCopy = kCopyBytes / Layout::kElementBytes;
    static constexpr int kCopiesPerRow = Layout::kColumns / kPerCopy;
    static constexpr int kRowsAtOnce = kThreads / kCopiesPerRow;
    static constexpr int kPasses = Layout::kRows / kRowsAtOnce;
    // Limited by registers: every unrolled pass has addresses of its own, and f32 has none to
    // spare.
    static constexpr int kUnrolled = kCopyBytes == 4 && kPerCopy == 1 ? 1 : 4;
    static_assert(kPerCopy >= 1 && kThreads % kCopiesPerRow == 0);
    static_assert(Layout::kRows % kRowsAtOnce == 0);

    Element const* from;  // the thread's first element of the next k-tile
    int64_t pass_stride, k_stride;
    int outer_left, k_left;  // elements of the tensor that remain, from there on

    template <int kBatches>
    __device__ TileCopier(Source<Element, kBatches> const& source, int const (&batch)[kBatches],
                          int first, int outer_extent, int k_extent)
        : pass_stride(kRowsAtOnce * (kAlongK ? source.outer_stride : source.k_stride)),
          k_stride(source.k_stride) {
        int const outer = first + (kAlongK ? row() : column()), k = kAlongK ? column() : row();
        from = source.data + batch_offset(batch, source.batch_strides) +
               outer * source.outer_stride + k * k_stride;
        outer_left = outer_extent - outer;
        k_left = k_extent - k;
    }

    __device__ void copy(unsigned char* tile) {
        int const rows_left = kAlongK ? outer_left : k_left;
        int const columns_left = kAlongK ? k_left : outer_left;
        Element const* at = from;
#pragma unroll(kUnrolled)
        for (int pass = 0; pass < kPasses; ++pass, at += pass_stride)
            copy_async<kCopyBytes>(tile + Layout::offset(row() + pass * kRowsAtOnce, column()), at,
                                   columns_left > 0 && pass * kRowsAtOnce < rows_left);
        from += Layout::kTileK * k_stride;
        k_left -= Layout::kTileK;
    }

  private:
    __device__ static int row() { return threadIdx.x / kCopiesPerRow; }
    __device__ static int column() { return threadIdx.x % kCopiesPerRow * kPerCopy; }
};

}  // namespace fact::sm80

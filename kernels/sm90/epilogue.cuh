// From accumulators to memory: the functor on every value, then warp by warp through shared memory
// and TMA. No barrier wider than a warp, so one group's stores never wait for another's products.
#pragma once

#include <cute/arch/copy_sm90_desc.hpp>
#include <cute/arch/copy_sm90_tma.hpp>

#include "operands.cuh"

namespace fact::sm90 {

// A warp's boxes on their way out: some are stored from while another is written.
template <int kCount>
struct alignas(1024) StoreBuffers {
    unsigned char boxes[kCount][2048];
};

// Writes a warp's values in the output's type to a box of 16 rows by 128 bytes, in TMA's swizzle.
// A slab takes one box in a 16-bit type and two in f32 (`part` says which).
template <class Output>
struct SlabWriter;

template <class Output>
struct HalfWidthWriter {
    static constexpr int kColumns = 64;  // per TMA box: 128 bytes
    __device__ static void write(unsigned char* box, float const (&values)[kSlabValues], int lane,
                                 int) {
        // stmatrix stores four 8x8 blocks: two column groups by two row halves.
#pragma unroll
        for (int group = 0; group < 8; group += 2) {
            uint32_t words[4];
#pragma unroll
            for (int w = 0; w < 4; ++w)
                words[w] = pack(values[group * 4 + w * 2], values[group * 4 + w * 2 + 1], Output{});
            int const row = (lane & 7) + ((lane >> 3) & 1) * 8, chunk = group + (lane >> 4);
            unsigned char* to = box + row * 128 + ((chunk ^ (row & 7)) * 16);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                             cute::cast_smem_ptr_to_uint(to)),
                         "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                         : "memory");
        }
    }
};
template <>
struct SlabWriter<bf16> : HalfWidthWriter<bf16> {};
template <>
struct SlabWriter<half> : HalfWidthWriter<half> {};

template <>
struct SlabWriter<float> {
    static constexpr int kColumns = 32;
    __device__ static void write(unsigned char* box, float const (&values)[kSlabValues], int lane,
                                 int part) {
#pragma unroll
        for (int g = 0; g < 4; ++g)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                int const row = lane / 4 + 8 * h, chunk = g * 2 + (lane % 4) / 2;
                int const i = (part * 4 + g) * 4 + h * 2;
                unsigned char* to =
                    box + row * 128 + ((chunk ^ (row & 7)) * 16) + (lane % 2) * 8;
                *reinterpret_cast<float2*>(to) = make_float2(values[i], values[i + 1]);
            }
    }
};

// The epilogue of one 64-row block of accumulators, a warp's 16 rows of it.
template <class Config, class Functor>
struct Epilogue {
    using Writer = SlabWriter<typename Config::Output>;
    static constexpr int kSlabs = Config::kTileN / kSlabColumns;
    static_assert(Config::kTileN % kSlabColumns == 0);
    static constexpr int kBoxes = kSlabColumns / Writer::kColumns;

    Functor const& functor;
    CUtensorMap const& map;
    Extents const& extents;
    StoreBuffers<Config::kStoreBuffers>& buffers;
    int lane;
    int next_box = 0;

    __device__ Slab slab(TileAt const& at, int row, int column) const {
        return {row + lane / 4, column + 2 * (lane % 4), at.batch0, at.batch1, extents};
    }

    // `fetched` holds the operands of the first slab on entry, and on return those of the next
    // block's first slab (rows from `next_row`) unless this is the tile's last block.
    template <int kCount>
    __device__ void finish(float const (&sums)[kCount], TileAt const& at, int row, int column,
                           typename Functor::Fetched& fetched, bool last_block, int next_row) {
        static_assert(kCount == kSlabs * kSlabValues);
#pragma unroll
        for (int s = 0; s < kSlabs; ++s) {
            typename Functor::Fetched const now = fetched;
            if (s + 1 < kSlabs)
                fetched = functor.fetch(slab(at, row, column + (s + 1) * kSlabColumns));
            else if (!last_block)
                fetched = functor.fetch(slab(at, next_row, column));
            Slab const here = slab(at, row, column + s * kSlabColumns);
            float values[kSlabValues];
#pragma unroll
            for (int i = 0; i < kSlabValues; ++i)
                values[i] = functor(sums[s * kSlabValues + i], now, here, i);
            store(values, at, row, column + s * kSlabColumns);
        }
    }

    __device__ void store(float const (&values)[kSlabValues], TileAt const& at, int row,
                          int column) {
#pragma unroll
        for (int part = 0; part < kBoxes; ++part) {
            int const first = column + part * Writer::kColumns;
            unsigned char* box = buffers.boxes[next_box];
            if (lane == 0) cute::tma_store_wait<Config::kStoreBuffers - 1>();
            __syncwarp();
            Writer::write(box, values, lane, part);
            cute::tma_store_fence();
            __syncwarp();
            if (lane == 0) {
                if (row < extents.m && first < extents.n)
                    cute::SM90_TMA_STORE_4D::copy(&map, box, first, row, at.batch0, at.batch1);
                cute::tma_store_arrive();
            }
            next_box = (next_box + 1) % Config::kStoreBuffers;
        }
    }

    __device__ void drain() const {
        if (lane == 0) cute::tma_store_wait<0>();
    }
};

}  // namespace fact::sm90

// From accumulators to memory: applies the functor to every value, then stores warp by warp through
// shared memory and TMA. No barrier is wider than a warp, so one group's stores never wait for
// another's products.
#pragma once

#include "boxes.cuh"
#include "scatter.cuh"
#include "staged_matrix.cuh"
#include "tiles.cuh"

namespace fact::sm90 {

// A warp's boxes of results: TMA stores some while the warp writes another. With a staged operand,
// a box first receives that operand's values.
template <int kCount>
struct alignas(1024) StoreBuffers {
    unsigned char boxes[kCount][2048];  // 16 rows of 128 bytes
};

// Writes a warp's values in the output's type to a box of 16 rows by 128 bytes, in TMA's swizzle.
// A box holds two slabs of a 16-bit type and one of f32 (`part` says which).
template <class Output>
struct SlabWriter;

template <class Output>
struct HalfWidthWriter {
    static constexpr int kColumns = 64;  // per TMA box: 128 bytes
    __device__ static void write(unsigned char* box, float const (&values)[kSlabValues], int lane,
                                 int part) {
        // stmatrix stores four 8x8 blocks: two column groups by two row halves.
#pragma unroll
        for (int group = 0; group < kSlabColumns / 8; group += 2) {
            uint32_t words[4];
#pragma unroll
            for (int w = 0; w < 4; ++w)
                words[w] = pack<Output>(values[group * 4 + w * 2], values[group * 4 + w * 2 + 1]);
            int const row = (lane & 7) + ((lane >> 3) & 1) * 8,
                      chunk = part * 4 + group + (lane >> 4);
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
                                 int) {
#pragma unroll
        for (int g = 0; g < 4; ++g)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                int const row = lane / 4 + 8 * h, chunk = g * 2 + (lane % 4) / 2;
                int const i = g * 4 + h * 2;
                unsigned char* to = box + row * 128 + ((chunk ^ (row & 7)) * 16) + (lane % 2) * 8;
                *reinterpret_cast<float2*>(to) = make_float2(values[i], values[i + 1]);
            }
    }
};

// The distance of columns that change places in the functor; 0: none do.
template <class Functor, class = void>
inline constexpr int kFlip = 0;
template <class Functor>
inline constexpr int kFlip<Functor, std::void_t<decltype(Functor::kFlip)>> = Functor::kFlip;

// The period, in columns, of everything that the functor reads along a row; 0: none.
template <class Functor, class = void>
inline constexpr int kPeriod = 0;
template <class Functor>
inline constexpr int kPeriod<Functor, std::void_t<decltype(Functor::kPeriod)>> = Functor::kPeriod;

// Whether the functor has `fetch_right`, which reuses the operands that do not vary along N.
template <class Functor, class Slab, class = void>
inline constexpr bool kKeepsSome = false;
template <class Functor, class Slab>
inline constexpr bool kKeepsSome<
    Functor, Slab,
    std::void_t<decltype(std::declval<Functor const&>().fetch_right(
        std::declval<Slab const&>(), std::declval<typename Functor::Fetched const&>()))>> = true;

// Fetches what the functor reads in a slab; `left` has the operands of its left neighbour.
template <class Functor, class Slab>
__device__ auto fetch_right(Functor const& functor, Slab const& slab,
                            typename Functor::Fetched const& left) {
    if constexpr (kKeepsSome<Functor, Slab>)
        return functor.fetch_right(slab, left);
    else
        return functor.fetch(slab);
}

// The epilogue of a warp's 16 rows of each 64-row block of accumulators. `Output` is the tensor map
// of the result, or the `Places` of its elements.
template <class Config, class Functor, int kBatches, class Output = CUtensorMap>
struct Epilogue {
    static constexpr bool kScattered = !std::is_same_v<Output, CUtensorMap>;
    using At = TileAt<kBatches>;
    using Writer = SlabWriter<typename Config::Output>;
    using Fetched = typename Functor::Fetched;
    static constexpr int kSlabs = kTileColumns<Config> / kSlabColumns;
    static_assert(kTileColumns<Config> % Writer::kColumns == 0);
    static constexpr int kParts = Writer::kColumns / kSlabColumns;  // slabs of a box
    static constexpr int kBoxes = Config::kStoreBuffers;
    static_assert(!Config::kStaged || kBoxes >= 2);
    // Slabs that one fetch serves: two if everything that is read repeats after half a tile. Then
    // two boxes are filled at a time.
    __device__ static constexpr int served() {
        if constexpr (kPeriod<Functor> == 0 || Config::kStaged || kBoxes < 2)
            return 1;
        else
            return kTileColumns<Config> / 2 % kPeriod<Functor> == 0 && kSlabs / 2 % kParts == 0 ? 2
                                                                                                : 1;
    }
    static constexpr int kServed = served(), kFetches = kSlabs / kServed;
    static_assert(kFetches * kServed == kSlabs);

    Functor const& functor;
    Output const& output;
    CUtensorMap const& staged_map;
    ExtentsOf<kBatches> const& extents;
    StoreBuffers<kBoxes>& buffers;
    FullBarrier* staged;  // one per box
    int lane;
    int box = 0;             // the next one to be stored
    uint32_t box_phase = 0;  // of the staged barrier of that box

    __device__ SlabOf<kBatches> slab(At const& at, int row, int column) const {
        // Lets the compiler simplify divisions of the column, for example by the width of a head.
        __builtin_assume(column >= 0 && lane >= 0);
        return {row + lane / 4, column + 2 * (lane % 4), at.batch, extents};
    }

    // Fetches what the first slab of these rows reads besides its accumulators. Its box is `ahead`
    // boxes after the next one to be stored.
    __device__ Fetched prefetch(At const& at, int row, int column, int ahead) {
        if constexpr (Config::kStaged) fill(at, row, column, ahead);
        return functor.fetch(slab(at, row, column));
    }

    // `fetched` holds the operands of the first slab on entry, and on return those of the next
    // block's first slab (rows from `next_row`) unless this is the tile's last block.
    template <int kCount>
    __device__ void finish(float const (&sums)[kCount], At const& at, int row, int column,
                           Fetched& fetched, bool last_block, int next_row) {
        static_assert(kCount == kProducts<Config> * kSlabs * kSlabValues);
#pragma unroll
        for (int s = 0; s < kFetches; ++s) {
            int const part = s % kParts;
            Fetched now = fetched;
            if (s + 1 < kFetches)
                fetched = prefetch_right(at, row, column, s + 1, now);
            else if (!last_block)
                fetched = prefetch(at, next_row, column, 1);
            if constexpr (Config::kStaged) {
                if (part == 0) staged[box].wait(box_phase);
                __syncwarp();
                functor.read_staged(now, buffers.boxes[box], lane, part * kSlabColumns / 8);
            }
#pragma unroll
            for (int i = 0; i < kServed; ++i)
                finish_slab(sums, at, row, column, s + i * kFetches, now, i);
            if (part + 1 == kParts) {
#pragma unroll
                for (int i = 0; i < kServed; ++i)
                    store(at, row, column + (s - part + i * kFetches) * kSlabColumns);
            }
        }
    }

    __device__ void drain() const {
        if constexpr (!kScattered)
            if (lane == 0) cute::tma_store_wait<0>();
    }

  private:
    // Fetches what slab s reads; `left` has the operands of its left neighbour.
    __device__ Fetched prefetch_right(At const& at, int row, int column, int s,
                                      Fetched const& left) {
        if constexpr (Config::kStaged)
            if (s % kParts == 0) fill(at, row, column + s * kSlabColumns, 1);
        return fetch_right(functor, slab(at, row, column + s * kSlabColumns), left);
    }

    // Starts the TMA load of the staged operand's values into the box of the slab that begins here.
    __device__ void fill(At const& at, int row, int column, int ahead) {
        if (lane == 0) {
            cute::tma_store_wait<kBoxes - 2>();  // the box was last stored kBoxes boxes ago
            int const to = (box + ahead) % kBoxes;
            staged[to].arrive_and_expect_tx(2048);
            BatchOf<Config::kStagedBatch, kBatches> const batch(at.batch);
            load_box(staged_map, staged[to], buffers.boxes[to], column, row, batch.at,
                     cute::TMA::CacheHintSm90::EVICT_FIRST);
        }
    }

    // Writes slab s, the i-th that `fetched` serves, to the i-th of the boxes being filled.
    template <int kCount>
    __device__ void finish_slab(float const (&sums)[kCount], At const& at, int row, int column,
                                int s, Fetched const& fetched, int i) {
        // Nothing beyond the edge is stored. With flips, and if no other branch is on the way to
        // the next slab, this one is needed: without it ptxas computes several slabs at once, and
        // spills.
        if ((kFlip<Functor> > 0 || kScattered) && column + s * kSlabColumns >= extents.n) return;
        SlabOf<kBatches> const here = slab(at, row, column + s * kSlabColumns);
        float values[kSlabValues];
#pragma unroll
        for (int v = 0; v < kSlabValues; ++v)
            values[v] = value(sums, s * kSlabValues + v, fetched, here, v);
        // The first slab waits for the boxes of all: if it is beyond the edge, so are the others.
        if constexpr (!Config::kStaged && !kScattered)
            if (i == 0 && s % kParts == 0 && lane == 0) cute::tma_store_wait<kBoxes - kServed>();
        __syncwarp();
        Writer::write(buffers.boxes[(box + i) % kBoxes], values, lane, s % kParts);
    }

    // Applies the functor to one sum, and to a second one if it takes two: that of the other
    // product, or of the column with which this one changes places.
    template <int kCount>
    __device__ float value(float const (&sums)[kCount], int at, Fetched const& fetched,
                           SlabOf<kBatches> const& here, int i) const {
        if constexpr (kProducts<Config> == 2) {
            return functor(sums[at], sums[at + kCount / 2], fetched, here, i);
        } else if constexpr (kFlip<Functor> > 0) {
            static_assert(Config::kTileN % (2 * kFlip<Functor>) == 0);
            return functor(sums[at], sums[flipped<kFlip<Functor>>(at)], fetched, here, i);
        } else {
            return functor(sums[at], fetched, here, i);
        }
    }

    __device__ void store(At const& at, int row, int column) {
        if constexpr (kScattered) {
            __syncwarp();
            // As in finish_slab, with f32 the branch there is enough.
            if (kParts == 1 || column < extents.n)
                scatter<typename Config::Output>(buffers.boxes[box], output, row, column, at.batch,
                                                 extents, lane);
            if (++box == kBoxes) box = 0;
        } else {
            store_box_of_results(at, row, column);
        }
    }

    __device__ void store_box_of_results(At const& at, int row, int column) {
        cute::tma_store_fence();
        __syncwarp();
        if (lane == 0) {
            if (row < extents.m && column < extents.n)
                store_box(output, buffers.boxes[box], column, row, at.batch);
            cute::tma_store_arrive();
        }
        if (++box == kBoxes) box = 0, box_phase ^= 1;
    }
};

}  // namespace fact::sm90

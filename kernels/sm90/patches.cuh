// Patches of images in shared memory that wgmma reads windows from, without a copy of the windows:
// what eight channels of a pixel hold is 16 bytes of f16, so eight neighbouring pixels are a core
// matrix without swizzle wherever they begin, and two taps are the two halves of K = 16.
#pragma once

#include "../common/neighbours.cuh"
#include "../common/rows.cuh"
#include "f16_parts.cuh"
#include "wgmma.cuh"

namespace fact::sm90 {

inline constexpr int kPatchThreads = 128;  // a warp group, which has a patch of its own
inline constexpr int kChunk = 8;           // f16 numbers in a row of a core matrix

// Where everything is, for a convolution over images [depth, rows, columns] with steps of one. The
// emitted `C` says:
//   kParts           f16 numbers that make up an f32 number: 2, or 1 for TF32's precision
//   kFeatures        of the results
//   kChannels        of the images
//   kTaps, kDilation, kBefore, kImage, kPlaces: three numbers each, the columns' last
//   kRuns            how often a warp group takes 128 places at a time
//   kGroups          warp groups of a thread block
//   kFetches         whether a tile's pixels are fetched while the one before is worked on
//   kTogether        neighbouring places whose results are stored together
template <class C>
struct PatchLayout {
    static constexpr int ceil(int a, int b) { return (a + b - 1) / b; }

    // Device code can use numbers, but no arrays of them.
    static constexpr int kTapsDeep = C::kTaps[0], kTapsDown = C::kTaps[1],
                         kTapsAcross = C::kTaps[2];
    static constexpr int kStepDeep = C::kDilation[0], kStepDown = C::kDilation[1],
                         kStepAcross = C::kDilation[2];
    static constexpr int kBeforeDeep = C::kBefore[0], kBeforeDown = C::kBefore[1],
                         kBeforeAcross = C::kBefore[2];
    static constexpr int kImageDeep = C::kImage[0], kImageDown = C::kImage[1],
                         kImageAcross = C::kImage[2];
    static constexpr int kPlacesDeep = C::kPlaces[0], kPlacesDown = C::kPlaces[1],
                         kPlacesAcross = C::kPlaces[2];

    // Of images of up to four channels, a chunk holds two pixels.
    static constexpr bool kPaired = C::kChannels <= kChunk / 2;
    static constexpr int kPlanes = kPaired ? 1 : ceil(C::kChannels, kChunk);
    static constexpr int kAcross = kPaired ? ceil(kTapsAcross, 2) : kTapsAcross;
    static constexpr int kChunks = kTapsDeep * kPlanes * kTapsDown * kAcross;
    static constexpr int kSteps = ceil(kChunks, 2);
    // The tensor core cuts off what does not fit beside a large sum: longer sums of f32 numbers are
    // added up from parts of so many steps.
    static constexpr int kStepsTogether = C::kParts == 2 && kSteps > 5 ? 5 : kSteps;

    // Places are numbered along the padded rows: those beyond a row's last window are left out.
    static constexpr int kPitch = kPlacesAcross + (kTapsAcross - 1) * kStepAcross;
    static constexpr int kNumbered = (kPlacesDown - 1) * kPitch + kPlacesAcross;
    static constexpr int kRun = 128;
    static constexpr int kTile = kRun * C::kRuns;
    static constexpr int kTiles = ceil(kNumbered, kTile);  // of an image's plane
    // A patch is all pixels from its first to its last, or a piece of each row if that is less.
    static constexpr int kReach = (kTapsAcross - 1) * kStepAcross;
    static constexpr int kPiece = kTile + kReach < kPitch ? kTile + kReach : kPitch;
    // Pixels of a patch, and how many are read for them.
    static constexpr int kPixels = (kTapsDown - 1) * kStepDown * kPiece + kTile + kReach;
    static constexpr int kRead = kPixels + (kPaired ? kStepAcross : 0);
    static constexpr int kFetched = kTapsDeep * kRead;

    // Features at a time, in a width that wgmma has.
    static constexpr int kColumns = C::kFeatures > 32   ? 64
                                    : C::kFeatures > 16 ? 32
                                    : C::kFeatures > 8  ? 16
                                                        : 8;
    static constexpr int kBlocks = ceil(C::kFeatures, kColumns);
    static constexpr int kTurned = kColumns < 16 ? kColumns : 16;  // features turned at a time

    // Bytes of shared memory.
    static constexpr int kPlaneBytes = kPixels * 16;
    static constexpr int kPartBytes = kTapsDeep * kPlanes * kPlaneBytes;
    static constexpr int kPatchBytes = C::kParts * kPartBytes;
    static constexpr int kStepBytes = 2 * kColumns * 16;
    static constexpr int kWeightBytes = C::kParts * kBlocks * kSteps * kStepBytes;
    static constexpr int kScaleBytes = ceil(kBlocks * kColumns * 4, 16) * 16;
    static constexpr int kFetchBytes = C::kFetches ? ceil(kFetched * C::kChannels * 4, 16) * 16 : 0;
    static constexpr int kTurnPitch = 36;  // no two lanes write to the same bank
    static constexpr int kTurnBytes = kTurned * kTurnPitch * 4;  // of a warp
    static constexpr int kBytes =
        kWeightBytes + kScaleBytes + C::kGroups * (kPatchBytes + kFetchBytes + 4 * kTurnBytes);
    static constexpr int kThreads = kPatchThreads * C::kGroups;

    // Where in a part of a patch the chunk of a tap begins. Chunks are numbered by depth, plane,
    // row, column; one beyond the last is read like the last, and its weights are zeros.
    static constexpr int chunk_at(int chunk) {
        int const at = chunk < kChunks ? chunk : kChunks - 1;
        int const column = at % kAcross * (kPaired ? 2 : 1), row = at / kAcross % kTapsDown;
        int const plane = at / kAcross / kTapsDown;
        return plane * kPlaneBytes + (row * kStepDown * kPiece + column * kStepAcross) * 16;
    }
};

// A descriptor of core matrices without swizzle.
__device__ inline uint64_t plain_descriptor(uint32_t address, int leading, int stride) {
    return uint64_t(address >> 4 & 0x3fff) | uint64_t(leading >> 4 & 0x3fff) << 16 |
           uint64_t(stride >> 4 & 0x3fff) << 32;
}

// The descriptor moved by some bytes, its two halves of K another distance apart.
__device__ inline uint64_t advanced(uint64_t descriptor, int bytes, int leading) {
    return descriptor + (uint64_t(bytes >> 4) | uint64_t(leading >> 4) << 16);
}

__device__ inline void make_visible_to_products() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The threads of a warp group wait for each other.
__device__ inline void join_warp_group(int group) {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(kPatchThreads) : "memory");
}

// The bits of a number without its sign: larger numbers have larger ones. Zero if it is infinite or
// NaN, beside which all other numbers keep their scale.
__device__ inline unsigned finite_bits(float x) {
    constexpr unsigned kInfinity = 0x7f800000;
    unsigned const bits = __float_as_uint(fabsf(x));
    return bits < kInfinity ? bits : 0;
}

// All weights of a layer, in the order of core matrices, each feature's scaled to f16's range.
// `weight(feature, channel, depth, row, column)` reads one.
template <class C, class Weight>
__device__ void load_weights(unsigned char* to, float* scales, Weight weight) {
    using L = PatchLayout<C>;
    constexpr int kNumbers = L::kSteps * 2 * kChunk;  // of a feature
    auto const value = [&](int feature, int number) {
        int const chunk = number / kChunk, i = number % kChunk;
        int const along = chunk % L::kAcross, row = chunk / L::kAcross % L::kTapsDown;
        int const planes = chunk / L::kAcross / L::kTapsDown;
        int const column = L::kPaired ? along * 2 + i / 4 : along;
        int const channel = L::kPaired ? i % 4 : planes % L::kPlanes * kChunk + i;
        bool const exists = chunk < L::kChunks && feature < C::kFeatures &&
                            channel < C::kChannels && column < L::kTapsAcross;
        return exists ? weight(feature, channel, planes / L::kPlanes, row, column) : 0.f;
    };
    int const lane = threadIdx.x % 32;
    for (int feature = threadIdx.x / 32; feature < L::kBlocks * L::kColumns;
         feature += L::kThreads / 32) {
        unsigned most = 0;
#pragma unroll 4
        for (int i = lane; i < kNumbers; i += 32) most = max(most, finite_bits(value(feature, i)));
        auto const scale =
            PowerOfTwo::to_f16_range(__uint_as_float(__reduce_max_sync(0xffffffff, most)));
        if (lane == 0) scales[feature] = scale.down;
        int const block = feature / L::kColumns, row = feature % L::kColumns;
#pragma unroll 2
        for (int i = lane * 2; i < kNumbers; i += 64) {
            F16Parts const parts =
                F16Parts::of(value(feature, i) * scale.up, value(feature, i + 1) * scale.up);
            int const half = i / kChunk;  // of the steps
            unsigned char* const at = to + block * L::kSteps * L::kStepBytes +
                                      (half * L::kColumns + row) * 16 + i % kChunk * 2;
            *reinterpret_cast<uint32_t*>(at) = parts.large;
            if constexpr (C::kParts == 2)
                *reinterpret_cast<uint32_t*>(at + L::kWeightBytes / 2) = parts.small;
        }
    }
}

// A tile's place in a batch of images: from place `first` on, in the plane of place `depth`.
struct PatchTile {
    int image, depth, first;
};

// A pixel of a tile's patch, from which zeros are read if it does not exist.
template <class T>
struct PatchPixel {
    T const* first;  // its first channel; if it does not exist, that of another pixel
    bool exists;
};

// The pixel that a patch has as number i of those read.
template <class C, class Pixel>
__device__ auto patch_pixel(PatchTile tile, int i, Pixel pixel) {
    using L = PatchLayout<C>;
    int const at = i % L::kRead, tap = i / L::kRead;
    int const place = tile.first + at / L::kPiece * L::kPitch + at % L::kPiece;
    int const row = place / L::kPitch - L::kBeforeDown;
    int const column = place % L::kPitch - L::kBeforeAcross;
    int const depth = tile.depth + tap * L::kStepDeep - L::kBeforeDeep;
    bool const exists = inside(depth, L::kImageDeep) && inside(row, L::kImageDown) &&
                        inside(column, L::kImageAcross);
    return PatchPixel<float>{
        pixel(tile.image, exists ? depth : 0, exists ? row : 0, exists ? column : 0), exists};
}

// Starts copies of the tile's pixels, channel by channel. Each thread copies what it will convert.
template <class C, class Pixel>
__device__ void fetch_pixels(float* to, PatchTile tile, Pixel pixel, int64_t channel_stride) {
    using L = PatchLayout<C>;
    for (int i = threadIdx.x % kPatchThreads; i < L::kFetched; i += kPatchThreads) {
        auto const from = patch_pixel<C>(tile, i, pixel);
        uint32_t const at = cute::cast_smem_ptr_to_uint(to + i);
#pragma unroll
        for (int c = 0; c < C::kChannels; ++c)
            asm volatile(
                "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at + c * L::kFetched * 4),
                "l"(from.first + c * channel_stride), "r"(from.exists ? 4 : 0));
    }
    asm volatile("cp.async.commit_group;");
}

// Writes the tile's patch, its numbers multiplied by `up`, and returns the bits of the largest
// finite number that this thread read: from what it fetched, or from the images.
template <class C, class Pixel>
__device__ unsigned load_patch(unsigned char* to, float const* fetched, PatchTile tile, float up,
                               Pixel pixel, int64_t channel_stride) {
    using L = PatchLayout<C>;
    unsigned most = 0;
#pragma unroll 2
    for (int i = threadIdx.x % kPatchThreads; i < L::kFetched; i += kPatchThreads) {
        int const at = i % L::kRead, tap = i / L::kRead;
        PatchPixel<float> from{fetched + i, true};
        if constexpr (!C::kFetches) from = patch_pixel<C>(tile, i, pixel);
        int64_t const next = C::kFetches ? L::kFetched : channel_stride;
#pragma unroll
        for (int plane = 0; plane < L::kPlanes; ++plane) {
            float numbers[kChunk] = {};
#pragma unroll
            for (int c = 0; c < kChunk; ++c)
                if (plane * kChunk + c < C::kChannels)
                    numbers[c] = from.first[(plane * kChunk + c) * next];
            uint32_t large[4], small[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                float const x = from.exists ? numbers[2 * c] : 0;
                float const y = from.exists ? numbers[2 * c + 1] : 0;
                most = max(most, max(finite_bits(x), finite_bits(y)));
                F16Parts const parts = F16Parts::of(x * up, y * up);
                large[c] = parts.large, small[c] = parts.small;
            }
            auto const store = [&](unsigned char* plane_at, uint32_t const(&words)[4]) {
                plane_at += (tap * L::kPlanes + plane) * L::kPlaneBytes;
                if constexpr (L::kPaired) {
                    uint2 const half = make_uint2(words[0], words[1]);
                    int const before = at - L::kStepAcross;
                    if (at < L::kPixels) *reinterpret_cast<uint2*>(plane_at + at * 16) = half;
                    if (before >= 0) *reinterpret_cast<uint2*>(plane_at + before * 16 + 8) = half;
                } else {
                    *reinterpret_cast<uint4*>(plane_at + at * 16) =
                        make_uint4(words[0], words[1], words[2], words[3]);
                }
            };
            store(to, large);
            if constexpr (C::kParts == 2) store(to + L::kPartBytes, small);
        }
    }
    return most;
}

}  // namespace fact::sm90

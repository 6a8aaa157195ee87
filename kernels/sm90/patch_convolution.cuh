// Convolutions of few channels on tensor cores, from patches of the images in shared memory.
#pragma once

#include "patches.cuh"

namespace fact::sm90 {

// Loads the tile's patch so that its numbers are in f16's range: scaled like the tile before it,
// which mostly fits. `mosts` has a word for each warp of the group.
template <class C, class Pixel>
__device__ void load_scaled_patch(unsigned char* patch, float const* fetched, unsigned* mosts,
                                  int group, PatchTile tile, PowerOfTwo& scale, Pixel pixel,
                                  int64_t channel_stride) {
    constexpr unsigned kLeast = 127 + 6, kMost = 127 + 14;  // exponents
    for (bool again = true; again;) {
        unsigned const mine = __reduce_max_sync(
            0xffffffff, load_patch<C>(patch, fetched, tile, scale.up, pixel, channel_stride));
        if (threadIdx.x % 32 == 0) mosts[threadIdx.x / 32 % 4] = mine;
        make_visible_to_products();
        join_warp_group(group);
        unsigned const most = max(max(mosts[0], mosts[1]), max(mosts[2], mosts[3]));
        unsigned const exponent = most >> 23, scaled = exponent + (__float_as_uint(scale.up) >> 23);
        PowerOfTwo right = scale;
        if (most != 0 && (scaled < kLeast + 127 || scaled > kMost + 127))
            right = PowerOfTwo::to_f16_range<2>(__uint_as_float(most));
        again = right.up != scale.up;
        scale = right;
        if (again) join_warp_group(group);  // all have read `mosts`
    }
}

// parts = the tile's windows times the weights of a block of features, over steps kFirst .. kEnd,
// both as f16 parts: the small products first. `patch` is where the first of 64 places begins.
template <class C, int kFirst, int kEnd, int kRegisters>
__device__ void multiply_steps(uint32_t patch, uint32_t weights, float (&parts)[1][kRegisters]) {
    using L = PatchLayout<C>;
    using Product = SharedProduct<half, L::kColumns, Major::k, Major::k>;
    constexpr int kProducts = C::kParts == 2 ? 3 : 1;
    // Or all descriptors, which are the same for every tile, would be kept in registers.
    asm volatile("" : "+r"(patch), "+r"(weights));
    pin(parts);
    cute::warpgroup_arrive();
#pragma unroll
    for (int product = 0; product < kProducts; ++product) {
        // Rows of eight places, 16 places apart: a warp's rows in two blocks are 32 places.
        uint64_t const places =
            plain_descriptor(patch + (kProducts == 3 && product == 0 ? L::kPartBytes : 0), 0, 256);
        uint64_t const features = plain_descriptor(
            weights + (product == 1 ? L::kWeightBytes / 2 : 0), L::kColumns * 16, 128);
#pragma unroll
        for (int step = kFirst; step < kEnd; ++step) {
            int const at = L::chunk_at(2 * step), next = L::chunk_at(2 * step + 1);
            multiply<Product>(advanced(places, at, next - at),
                              advanced(features, step * L::kStepBytes), parts[0],
                              step > kFirst || product > 0);
        }
    }
    cute::warpgroup_commit_batch();
    cute::warpgroup_wait<0>();
    pin(parts);
}

// The same over all steps from kFirst on, so many at a time.
template <class C, int kFirst = 0, int kRegisters>
__device__ void multiply_windows(uint32_t patch, uint32_t weights, float (&sums)[1][kRegisters]) {
    constexpr int kSteps = PatchLayout<C>::kSteps, kTogether = PatchLayout<C>::kStepsTogether;
    if constexpr (kFirst == 0) {
        multiply_steps<C, 0, (kTogether < kSteps ? kTogether : kSteps)>(patch, weights, sums);
    } else {
        constexpr int kEnd = kFirst + kTogether < kSteps ? kFirst + kTogether : kSteps;
        float parts[1][kRegisters];
        multiply_steps<C, kFirst, kEnd>(patch, weights, parts);
#pragma unroll
        for (int i = 0; i < kRegisters; ++i) sums[0][i] += parts[0][i];
        pin(sums);  // or the parts would be kept and added up at the end
    }
    if constexpr (kFirst + kTogether < kSteps)
        multiply_windows<C, kFirst + kTogether>(patch, weights, sums);
}

// Turns the sums of 32 places in a row, so that each lane has C::kTogether of them, and calls
// store(place, feature, values) for all features of as many lanes: values[i] are those of the
// feature i * C::kTogether later. `scales` are those of the block's features.
template <class C, int kRegisters, class Store>
__device__ void turn(float* turned, float const (&sums)[2 * C::kRuns][1][kRegisters],
                     float const* scales, float down, Store store) {
    using L = PatchLayout<C>;
    constexpr int kTogether = C::kTogether, kLanes = 32 / kTogether;  // lanes of a feature
    int const lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int run = 0; run < C::kRuns; ++run) {
#pragma unroll
        for (int first = 0; first < L::kColumns; first += L::kTurned) {
            __syncwarp();
#pragma unroll
            for (int i = 0; i < L::kTurned / 2; ++i) {
                int const column = i / 4 * 8 + lane % 4 * 2 + i % 2;
                float const scale = scales[first + column] * down;
#pragma unroll
                for (int block = 0; block < 2; ++block)
                    turned[column * L::kTurnPitch + lane / 4 + i / 2 % 2 * 16 + block * 8] =
                        sums[2 * run + block][0][first / 2 + i] * scale;
            }
            __syncwarp();
            Neighbours<float, kTogether> values[L::kTurned / kTogether];
#pragma unroll
            for (int i = 0; i < L::kTurned / kTogether; ++i)
                values[i] =
                    neighbours<kTogether>(turned[(i * kTogether + lane / kLanes) * L::kTurnPitch +
                                                 lane % kLanes * kTogether]);
            store(run * L::kRun + warp * 32 + lane % kLanes * kTogether, first + lane / kLanes,
                  values);
        }
    }
}

// Calls store(image, feature, depth, row, column, finish(the same, sum)) for every result, where
// the sum is over channels and taps of what the windows see, outside of the images zero.
template <class C, class Pixel, class Weight, class Finish, class Store>
__device__ void convolve_patches(int images, Pixel pixel, int64_t channel_stride, Weight weight,
                                 Finish finish, Store store) {
    using L = PatchLayout<C>;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ unsigned mosts[C::kGroups][4];
    unsigned char* const weights = shared;
    float* const scales = reinterpret_cast<float*>(shared + L::kWeightBytes);
    int const group = threadIdx.x / kPatchThreads;
    unsigned char* const patch =
        shared + L::kWeightBytes + L::kScaleBytes + group * (L::kPatchBytes + L::kFetchBytes);
    float* const fetched = reinterpret_cast<float*>(patch + L::kPatchBytes);
    float* const turned = reinterpret_cast<float*>(shared + L::kWeightBytes + L::kScaleBytes +
                                                   C::kGroups * (L::kPatchBytes + L::kFetchBytes) +
                                                   threadIdx.x / 32 * L::kTurnBytes);
    wait_for_previous();
    load_weights<C>(weights, scales, weight);
    make_visible_to_products();
    __syncthreads();
    PowerOfTwo scale{1024, 1.f / 1024};
    int const tiles = images * L::kPlacesDeep * L::kTiles;
    auto const tile_of = [](int number) {
        return PatchTile{number / L::kTiles / L::kPlacesDeep, number / L::kTiles % L::kPlacesDeep,
                         number % L::kTiles * L::kTile};
    };
    int number = blockIdx.x * C::kGroups + group;
    if (C::kFetches && number < tiles)
        fetch_pixels<C>(fetched, tile_of(number), pixel, channel_stride);
    for (int next; number < tiles; number = next) {
        next = number + gridDim.x * C::kGroups;
        PatchTile const tile = tile_of(number);
        if constexpr (C::kFetches) asm volatile("cp.async.wait_group 0;" ::: "memory");
        load_scaled_patch<C>(patch, fetched, mosts[group], group, tile, scale, pixel,
                             channel_stride);
        if (C::kFetches && next < tiles)
            fetch_pixels<C>(fetched, tile_of(next), pixel, channel_stride);
#pragma unroll 1
        for (int block = 0; block < L::kBlocks; ++block) {
            float sums[2 * C::kRuns][1][L::kColumns / 2];
            uint32_t const places = cute::cast_smem_ptr_to_uint(patch);
            uint32_t const features =
                cute::cast_smem_ptr_to_uint(weights + block * L::kSteps * L::kStepBytes);
#pragma unroll
            for (int i = 0; i < 2 * C::kRuns; ++i)
                multiply_windows<C>(places + i / 2 * L::kRun * 16 + i % 2 * 128, features, sums[i]);
            turn<C>(
                turned, sums, scales + block * L::kColumns, scale.down,
                [&](int place, int first, auto& values) {
                    int const row = (tile.first + place) / L::kPitch;
                    int const column = (tile.first + place) % L::kPitch;
                    if (row >= L::kPlacesDown || column >= L::kPlacesAcross) return;
                    auto const each = [&](auto visit) {
#pragma unroll
                        for (int i = 0; i < L::kTurned / C::kTogether; ++i) {
                            int const feature = block * L::kColumns + first + i * C::kTogether;
                            if (L::kBlocks * L::kColumns == C::kFeatures || feature < C::kFeatures)
                                visit(feature, values[i].of);
                        }
                    };
                    // All are computed before the first is stored: a store might change what
                    // they read.
                    each([&](int feature, float(&of)[C::kTogether]) {
#pragma unroll
                        for (int i = 0; i < C::kTogether; ++i)
                            of[i] = finish(tile.image, feature, tile.depth, row, column + i, of[i]);
                    });
                    each([&](int feature, float(&of)[C::kTogether]) {
                        store(tile.image, feature, tile.depth, row, column, of);
                    });
                });
        }
        join_warp_group(group);  // the patch has been read
    }
}

}  // namespace fact::sm90

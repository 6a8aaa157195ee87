// Numbers its callers in the order of their calls. CUDA does not say in which order thread blocks
// start. If blocks are numbered in the order of their start and wait only for lower numbers, they
// wait only for blocks that are already running, whatever else is on the GPU.
#pragma once

#include <cstdint>

namespace fact::sm90 {

// This memory may hold anything before the first launch. It is reset at the end, for the next
// replay of a CUDA graph, which has the same token; other launches never share a token.
struct StartCounts {
    unsigned long long claimed;  // the token once there was a first caller
    unsigned long long count;    // the token, and in its lowest eight bits how many have called
};

// The caller's number, from 0; each of the `callers` calls once.
__device__ inline int start_number(StartCounts& counts, unsigned long long token, int callers) {
    unsigned long long const tag = token << 8;
    unsigned long long number = 0;
    // The first caller sets the count; it is running, so the others can wait for that. What they
    // add before it does so is overwritten.
    if (atomicExch(&counts.claimed, token) != token)
        atomicExch(&counts.count, tag | 1);
    else
        do number = atomicAdd(&counts.count, 1ull) ^ tag;
        while (number >= 256);
    if (static_cast<int>(number) + 1 == callers) counts.count = counts.claimed = 0;
    return static_cast<int>(number);
}

}  // namespace fact::sm90

// Numbers whoever asks in the order they ask. CUDA does not say in which order blocks start: one
// that waits for others, and is numbered by when it started, waits for those alone that have
// started before it. So it gets what it waits for, whatever else is on the GPU.
#pragma once

#include <cstdint>

namespace fact::sm90 {

// Memory that may hold anything before the first launch, and is left clean for a graph's next
// replay, whose token is the same. No two other launches have the same token.
struct StartCounts {
    unsigned long long claimed;  // the token: somebody is the first
    unsigned long long count;    // beside the token, how many have asked
};

// The caller's number of `callers`, all of whom ask once.
__device__ inline int start_number(StartCounts& counts, unsigned long long token, int callers) {
    unsigned long long const tag = token << 8;
    unsigned long long number = 0;
    // Who comes first sets the count, and has started: others can wait for that. What they add to
    // before means nothing, and is overwritten.
    if (atomicExch(&counts.claimed, token) != token)
        atomicExch(&counts.count, tag | 1);
    else
        do number = atomicAdd(&counts.count, 1ull) ^ tag;
        while (number >= 256);
    if (static_cast<int>(number) + 1 == callers) counts.count = counts.claimed = 0;
    return static_cast<int>(number);
}

}  // namespace fact::sm90

// How long rows may be for each way of computing them: what cuts kernels and what chooses between
// the ways must agree.
#pragma once

#include <cstdint>

namespace fact::lower {

// A cluster of so many thread blocks holds a row, or 32 rows that are neighbours in memory, with so
// many elements per thread: then a multiprocessor has room for two blocks of 512 threads.
inline constexpr int kMaxCluster = 16, kClusterThreads = 512, kHeldByThread = 32;
inline constexpr std::int64_t kLongestInCluster =
    std::int64_t{kMaxCluster} * kClusterThreads * kHeldByThread;
inline constexpr std::int64_t kLongestColumnInCluster = kLongestInCluster / 32;

// A thread block without a cluster holds neighbouring rows of so many elements.
inline constexpr std::int64_t kMostHeld = 384;

// Shorter rows are worth no cluster if they are few, and less in all is read again from the cache.
inline constexpr std::int64_t kWorthACluster = 8192, kManyElements = 1 << 20;

}  // namespace fact::lower

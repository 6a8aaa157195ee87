// Room in a GPU's memory for the proof of a call, beside the proofs of other runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/shared_lock.h"
#include "tune/gpu_use.h"

namespace fact::tune {

// Of the GPU's memory, each a ninth: one ninth is left for contexts, code and what is too little
// to count.
constexpr int kMemoryShares = 8;

// How many shares of a GPU's memory so much takes at most; 0 if it is too little to count.
int shares_of(double gib, double gpu_gib);

// How many of them the proof of a call takes at most, by the sizes of its inputs and results.
// `call` is the path of the FusedCall's JSON; a file that cannot be read needs none, since the
// worker says what is wrong with it.
int memory_shares(const std::string& call);

// Whether a failure of torch or of the driver says that the GPU's memory was used up.
bool says_out_of_memory(std::string_view failure);

// The shares of one process among all processes of this user. Whoever also wants a turn
// (gpu_turn.h) takes memory first.
class GpuMemory {
  public:
    GpuMemory() = default;
    GpuMemory(std::string_view device, std::string what);
    GpuMemory(GpuMemory&& other) noexcept = default;
    GpuMemory& operator=(GpuMemory&& other) noexcept = default;
    ~GpuMemory() { release(); }

    // Waits until so many are free, and lets go of its own first. One process at a time collects
    // what becomes free, so that none waits for ever.
    Result<> take(int shares);
    void release();
    int held() const { return static_cast<int>(held_.size()); }

  private:
    std::string file_;  // "" on a CPU
    std::string what_;
    std::vector<SharedLock> held_;
    GpuUse use_;
};

}  // namespace fact::tune

// The core of SHA-256: adds whole blocks to the state, with the CPU's SHA instructions if it has
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fact {

using Sha256State = std::array<std::uint32_t, 8>;
using Sha256Blocks = void (*)(Sha256State& state, const unsigned char* data, std::size_t blocks);

inline constexpr std::size_t kSha256Block = 64;  // bytes

// On any CPU.
void sha256_blocks_portable(Sha256State& state, const unsigned char* data, std::size_t blocks);
// With this CPU's SHA instructions; nullptr if it has none.
Sha256Blocks sha256_blocks_of_cpu();

}  // namespace fact

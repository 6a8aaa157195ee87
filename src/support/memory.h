// How much memory the machine has, processes use, and processes may use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "support/result.h"

namespace fact {

inline constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;

// The memory of the machine.
std::uint64_t physical_memory();
// The memory that a process uses, without what it only reserved; 0 if there is no such process.
std::uint64_t resident_memory(pid_t process);

// An environment variable in gibibytes ("16", "0.5"), or `otherwise` if it is not set.
Result<std::uint64_t> memory_from_environment(const char* variable, std::uint64_t otherwise);
// "1.5 GiB", "64 MiB"
std::string memory_text(std::uint64_t bytes);

}  // namespace fact

// How much memory there is, how much a process uses, and how much it may use; all in bytes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "support/result.h"

namespace fact {

inline constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;

// The memory of the machine.
std::uint64_t physical_memory();
// The memory that a process uses, not counting memory that it has only reserved; 0 if there is no
// such process.
std::uint64_t resident_memory(pid_t process);

// The bytes of an environment variable that is given in gibibytes ("16", "0.5"); `default_bytes` if
// it is not set.
Result<std::uint64_t> memory_from_environment(const char* variable, std::uint64_t default_bytes);
// "1.5 GiB", "64 MiB"
std::string memory_text(std::uint64_t bytes);

}  // namespace fact

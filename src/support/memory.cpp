#include "support/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace fact {

std::uint64_t physical_memory() {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t resident_memory(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/statm", process));
    std::uint64_t reserved = 0, resident = 0;
    if (!(file >> reserved >> resident)) return 0;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<std::uint64_t> memory_from_environment(const char* variable, std::uint64_t default_bytes) {
    const char* value = std::getenv(variable);
    if (!value || !*value) return default_bytes;
    double gibibytes = 0;
    const char* end = value + std::strlen(value);
    const auto [stopped, code] = std::from_chars(value, end, gibibytes);
    if (code != std::errc{} || stopped != end || !(gibibytes > 0) || gibibytes > 1e6)
        return Error{fmt::format("{} is '{}', not an amount of memory", variable, value),
                     "set it to a number of GiB, such as 16 or 0.5"};
    return static_cast<std::uint64_t>(gibibytes * static_cast<double>(kGibibyte));
}

std::string memory_text(std::uint64_t bytes) {
    const double mebibytes = static_cast<double>(bytes) / (1 << 20);
    if (mebibytes < 1024) return fmt::format("{:.3g} MiB", mebibytes);
    return fmt::format("{:.3g} GiB", mebibytes / 1024);
}

}  // namespace fact

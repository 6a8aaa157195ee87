#include "tune/gpu_use.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/hash.h"

namespace fact::tune {

std::filesystem::path gpu_lock_file(std::string_view something) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const auto gpus = short_hash(visible ? visible : "all").substr(0, 8);
    return std::filesystem::temp_directory_path() /
           fmt::format("fact-gpu-{}-{}.{}", ::getuid(), gpus, something);
}

void GpuUse::begin() {
    since_ = Clock::now();
    when_ = std::chrono::system_clock::now();
}

void GpuUse::end(std::string_view kind, std::string_view what) const {
    const char* path = std::getenv("FACT_TURN_LOG");
    if (!path || !*path) return;
    const nlohmann::json entry{{"who", ::getpid()},
                               {"kind", kind},
                               {"what", what},
                               {"waited_s", waited_s()},
                               {"held_s", seconds(Clock::now() - since_)},
                               {"when", seconds(when_.time_since_epoch())}};
    // Whole lines, even if several processes append at the same time. A log that cannot be written
    // is no reason to stop.
    const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    const auto line = entry.dump() + "\n";
    [[maybe_unused]] const auto written = ::write(file, line.data(), line.size());
    ::close(file);
}

}  // namespace fact::tune

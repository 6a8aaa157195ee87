#include "tune/gpu_turn.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "support/hash.h"

namespace fact::tune {

Result<std::optional<FileLock>> gpu_turn(std::string_view device) {
    if (device == "cpu") return std::optional<FileLock>();
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const auto gpus = short_hash(visible ? visible : "all").substr(0, 8);
    auto lock = FileLock::take(std::filesystem::temp_directory_path() /
                                   fmt::format("fact-gpu-{}-{}.lock", ::getuid(), gpus),
                               "the GPU");
    if (!lock) return lock.error();
    return std::optional<FileLock>(std::move(*lock));
}

}  // namespace fact::tune

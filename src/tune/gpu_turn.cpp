#include "tune/gpu_turn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/hash.h"

namespace fact::tune {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kAtOnce{0.002};  // nobody was waited for

std::string_view name_of(GpuPart part) {
    switch (part) {
        case GpuPart::time:
            return "turn";
        case GpuPart::memory:
            return "memory";
    }
    throw InternalError("no such part of a GPU");
}

// Whole lines, even if several processes append at the same time. A log that cannot be written is
// no reason to stop.
void append_to_log(const nlohmann::json& entry) {
    const char* path = std::getenv("FACT_TURN_LOG");
    if (!path || !*path) return;
    const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    const auto line = entry.dump() + "\n";
    [[maybe_unused]] const auto written = ::write(file, line.data(), line.size());
    ::close(file);
}

}  // namespace

GpuTurn::GpuTurn(GpuPart part, std::string_view device, std::string what)
    : part_(part), what_(std::move(what)) {
    if (device == "cpu") return;
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const auto gpus = short_hash(visible ? visible : "all").substr(0, 8);
    file_ = std::filesystem::temp_directory_path() /
            fmt::format("fact-gpu-{}-{}.{}", ::getuid(), gpus, name_of(part));
}

Result<> GpuTurn::take(LockKind kind) {
    release();
    if (file_.empty()) return Ok{};
    const auto asked = Clock::now();
    auto lock = SharedLock::take(file_, kind, said_ ? "" : "the GPU");
    if (!lock) return lock.error();
    const auto since = Clock::now();
    const Seconds waited = since - asked;
    said_ = said_ || waited > kAtOnce;
    hold_ = std::make_unique<Hold>(std::move(*lock), kind, waited.count(), since,
                                   std::chrono::system_clock::now());
    return Ok{};
}

void GpuTurn::release() {
    if (!hold_) return;
    const Seconds held = Clock::now() - hold_->since, when = hold_->when.time_since_epoch();
    const auto kind = std::string(name(hold_->kind));
    const nlohmann::json entry{
        {"who", ::getpid()},      {"kind", part_ == GpuPart::memory ? "memory, " + kind : kind},
        {"what", what_},          {"waited_s", hold_->waited_s},
        {"held_s", held.count()}, {"when", when.count()}};
    hold_.reset();
    append_to_log(entry);
}

}  // namespace fact::tune

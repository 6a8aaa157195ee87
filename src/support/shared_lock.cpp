#include "support/shared_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "support/lock_files.h"
#include "support/subprocess.h"

namespace fact {

namespace fs = std::filesystem;

namespace {

// Between two attempts to take the lock: short, since it changes hands many times a second. Who
// wants it alone looks more often, so that several of these follow one another: each change of kind
// takes the time until the last one who shares it is done.
constexpr std::chrono::milliseconds kPauseToShare{4}, kPauseToHaveAlone{1};

// Says once for whom this process waits.
class Announcement {
  public:
    Announcement(const fs::path& file, std::string_view what) : file_(file), what_(what) {}
    void waiting() {
        if (what_.empty() || std::exchange(said_, true)) return;
        const int descriptor = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
        fmt::print(stderr, "waiting for {} to finish with {}\n",
                   descriptor < 0 ? "another process" : holder_of(descriptor), what_);
        if (descriptor >= 0) ::close(descriptor);
    }

  private:
    const fs::path& file_;
    std::string_view what_;
    bool said_ = false;
};

// The descriptor of the file if it can be locked now; nullopt if others have locked it.
Result<std::optional<int>> try_lock(const fs::path& file, LockKind kind) {
    const int operation = (kind == LockKind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
    for (;;) {
        const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor < 0) return cannot_lock(file, errno);
        const bool locked = ::flock(descriptor, operation) == 0;
        const int why = errno;
        if (locked && is_at(descriptor, file)) return std::optional(descriptor);
        ::close(descriptor);
        if (locked || why == EINTR) continue;
        if (why != EWOULDBLOCK) return cannot_lock(file, why);
        return std::optional<int>();
    }
}

Result<int> locked(const fs::path& file, LockKind kind, std::chrono::milliseconds pause,
                   Announcement& announcement) {
    for (;;) {
        const auto descriptor = try_lock(file, kind);
        if (!descriptor) return descriptor.error();
        if (*descriptor) return **descriptor;
        announcement.waiting();
        if (interrupted()) return Error{"interrupted", {}};
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace

std::string_view name(LockKind kind) {
    switch (kind) {
        case LockKind::shared:
            return "shared";
        case LockKind::exclusive:
            return "exclusive";
    }
    throw InternalError("no such kind of lock");
}

SharedLock::SharedLock(SharedLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

SharedLock& SharedLock::operator=(SharedLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

SharedLock::~SharedLock() {
    if (descriptor_ < 0) return;
    // A child that is just being started may have the descriptor too: closing is not enough.
    ::flock(descriptor_, LOCK_UN);
    ::close(descriptor_);
}

Result<SharedLock> SharedLock::take(const fs::path& file, LockKind kind, std::string_view what) {
    auto gate_file = file;
    gate_file += ".gate";
    Announcement announcement(file, what);
    const auto pause = kind == LockKind::shared ? kPauseToShare : kPauseToHaveAlone;
    const auto gate = locked(gate_file, LockKind::exclusive, pause, announcement);
    if (!gate) return gate.error();
    const SharedLock through_the_gate(*gate);  // until the lock itself is taken
    const auto taken = locked(file, kind, pause, announcement);
    if (!taken) return taken.error();
    write_process_id(*taken);
    return SharedLock(*taken);
}

Result<std::optional<SharedLock>> SharedLock::try_take(const fs::path& file, LockKind kind) {
    const auto taken = try_lock(file, kind);
    if (!taken) return taken.error();
    if (!*taken) return std::optional<SharedLock>();
    write_process_id(**taken);
    return std::optional(SharedLock(**taken));
}

}  // namespace fact

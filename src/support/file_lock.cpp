#include "support/file_lock.h"

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

constexpr std::chrono::milliseconds kPause{50};  // between two attempts to take the lock

}  // namespace

FileLock::FileLock(fs::path file, int descriptor)
    : file_(std::move(file)), descriptor_(descriptor) {}

FileLock::FileLock(FileLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
    if (descriptor_ < 0) return;
    ::unlink(file_.c_str());  // before the lock is released: the next holder makes a new file
    ::close(descriptor_);
}

Result<FileLock> FileLock::take(const fs::path& file, std::string_view what) {
    for (bool waited = false;;) {
        const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor < 0) {
            const int why = errno;
            // The previous holder may have removed the folder.
            if (waited && why == ENOENT) {
                std::error_code error;
                fs::create_directories(file.parent_path(), error);
                if (!error) continue;
            }
            return cannot_lock(file, why);
        }
        if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
            FileLock lock(file, descriptor);
            if (!is_at(descriptor, file)) {
                ::close(std::exchange(lock.descriptor_, -1));
                continue;
            }
            write_process_id(descriptor);
            return lock;
        }
        const int why = errno;
        if (why == EWOULDBLOCK && !std::exchange(waited, true))
            fmt::print(stderr, "waiting for {} to finish with {}\n", holder_of(descriptor), what);
        ::close(descriptor);
        if (why != EWOULDBLOCK && why != EINTR) return cannot_lock(file, why);
        if (interrupted()) return Error{"interrupted", {}};
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace fact

#include "support/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "support/subprocess.h"

namespace fact {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kPause{50};  // between two attempts to take the lock

Error cannot_lock(const fs::path& file, int code) {
    return {fmt::format("cannot lock {}: {}", file.string(), std::strerror(code)),
            "choose a folder on a local disk that you may write to"};
}

// Whether the name `file` still refers to the open file: the previous holder removes its file.
bool is_at(int descriptor, const fs::path& file) {
    struct stat open{}, named{};
    return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

void write_process_id(int descriptor) {
    const auto text = fmt::format("{}\n", ::getpid());
    if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, text.data(), text.size(), 0) < 0)
        return;  // only the message of waiting processes is less specific
}

// "process 7", or "another process" if the file does not say which.
std::string holder(int descriptor) {
    char text[32] = {};
    if (::pread(descriptor, text, sizeof text - 1, 0) <= 0) return "another process";
    return fmt::format("process {}", std::strtol(text, nullptr, 10));
}

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
            fmt::print(stderr, "waiting for {} to finish with {}\n", holder(descriptor), what);
        ::close(descriptor);
        if (why != EWOULDBLOCK && why != EINTR) return cannot_lock(file, why);
        if (interrupted()) return Error{"interrupted", {}};
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace fact

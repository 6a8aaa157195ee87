#include "support/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace fact {
namespace {

namespace fs = std::filesystem;

Error failure(std::string_view what, const fs::path& path, int code) {
    Error error{fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(code)), ""};
    if (code == ENOENT) error.hint = "check the path";
    if (code == EACCES || code == EPERM || code == EROFS)
        error.hint = "choose a place you may write to, or change its permissions";
    if (code == ENOSPC || code == EDQUOT) error.hint = "free some space on that disk";
    return error;
}

// A name no other thread or process of this machine picks.
std::string unique_suffix() {
    static std::atomic<unsigned> counter{0};
    return fmt::format("{}-{}", ::getpid(), counter++);
}

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }
    int close() {
        int fd = std::exchange(fd_, -1);
        return fd < 0 ? 0 : ::close(fd);
    }

  private:
    int fd_;
};

bool write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        ssize_t count = ::write(fd, content.data(), content.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        content.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

Result<> make_folder(const fs::path& folder) {
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) return failure("make the folder", folder, code.value());
    return Ok{};
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return failure("read", path, errno);
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return failure("read", path, errno);
    if (S_ISDIR(status.st_mode)) return failure("read", path, EISDIR);

    // The size is only a hint: it is 0 for pipes and /proc.
    std::string content(static_cast<std::size_t>(status.st_size) + 1, '\0');
    std::size_t used = 0;
    for (;;) {
        if (used == content.size()) content.resize(content.size() * 2 + 4096);
        ssize_t count = ::read(file.get(), content.data() + used, content.size() - used);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failure("read", path, errno);
        if (count == 0) break;
        used += static_cast<std::size_t>(count);
    }
    content.resize(used);
    return content;
}

Result<> write_file_atomic(const fs::path& path, std::string_view content) {
    if (path.has_parent_path())
        if (auto made = make_folder(path.parent_path()); !made) return made;
    fs::path temporary = path;
    temporary.replace_filename(
        fmt::format(".{}.{}.tmp", path.filename().string(), unique_suffix()));

    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) return failure("write", path, errno);
    // Synced before the rename, so that a power cut cannot leave an empty file under the name.
    bool written = write_all(file.get(), content) && ::fsync(file.get()) == 0 && file.close() == 0;
    if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) {
        Error error = failure("write", path, errno);
        ::unlink(temporary.c_str());
        return error;
    }
    return Ok{};
}

Result<> ensure_writable_folder(const fs::path& folder) {
    if (auto made = make_folder(folder); !made) return made;
    fs::path probe = folder / fmt::format(".probe.{}", unique_suffix());
    Descriptor file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0) return failure("write in", folder, errno);
    ::unlink(probe.c_str());
    return Ok{};
}

TemporaryFolder::TemporaryFolder(const fs::path& parent, std::string_view stem) {
    fs::create_directories(parent);
    std::string pattern = (parent / fmt::format("{}.XXXXXX", stem)).string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw fs::filesystem_error("cannot make a temporary folder", parent,
                                   std::error_code(errno, std::generic_category()));
    path_ = pattern;
    ::chmod(path_.c_str(), 0755);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace fact

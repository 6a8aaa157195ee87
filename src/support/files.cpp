#include "support/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

namespace fact {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as the kernel follows

Error failure(std::string_view what, const fs::path& path, int code) {
    Error error{fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(code)), ""};
    if (code == ENOENT) error.hint = "check the path";
    if (code == EACCES || code == EPERM || code == EROFS)
        error.hint = "choose a place you may write to, or change its permissions";
    if (code == ENOSPC || code == EDQUOT) error.hint = "free some space on that disk";
    if (code == EFBIG) error.hint = "raise the limit on the size of files (ulimit -f)";
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

Result<std::string> read_all(int fd, const fs::path& path, std::size_t max_bytes) {
    struct stat status{};
    if (::fstat(fd, &status) != 0) return failure("read", path, errno);
    if (S_ISDIR(status.st_mode)) return failure("read", path, EISDIR);
    const Error too_large{
        fmt::format("{} is larger than the {} bytes that are read", path.string(), max_bytes),
        "check that it is the file you mean"};
    const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
    if (size > max_bytes) return too_large;

    // The size is only a hint: it is 0 for pipes and /proc.
    std::string content(size + 1, '\0');
    std::size_t used = 0;
    for (;;) {
        if (used > max_bytes) return too_large;
        if (used == content.size()) content.resize(content.size() * 2 + 4096);
        ssize_t count = ::read(fd, content.data() + used, content.size() - used);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failure("read", path, errno);
        if (count == 0) break;
        used += static_cast<std::size_t>(count);
    }
    content.resize(used);
    return content;
}

Result<> make_folder(const fs::path& folder) {
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) return failure("make the folder", folder, code.value());
    return Ok{};
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
    return read_file(path, std::numeric_limits<std::size_t>::max());
}

Result<std::string> read_file(const fs::path& path, std::size_t max_bytes) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return failure("read", path, errno);
    return read_all(file.get(), path, max_bytes);
}

Result<std::string> read_standard_input(std::size_t max_bytes) {
    return read_all(STDIN_FILENO, "standard input", max_bytes);
}

Result<fs::path> file_to_replace(const fs::path& path) {
    fs::path target = path;
    std::error_code code;
    for (int links = 0; fs::is_symlink(fs::symlink_status(target, code)); ++links) {
        if (links == kMaxLinks) return failure("write", path, ELOOP);
        const auto next = fs::read_symlink(target, code);
        if (code) return failure("write", path, code.value());
        target = target.parent_path() / next;
    }
    const auto status = fs::status(target, code);
    if (fs::exists(status) && !fs::is_regular_file(status))
        return Error{fmt::format("cannot write {}: it is {}, not a regular file", path.string(),
                                 fs::is_directory(status) ? "a folder" : "a device or a pipe"),
                     "choose another output"};
    return target;
}

Result<> write_file_atomic(const fs::path& path, std::string_view content) {
    const auto target = file_to_replace(path);
    if (!target) return target.error();
    if (target->has_parent_path())
        if (auto made = make_folder(target->parent_path()); !made) return made;
    fs::path temporary = *target;
    temporary.replace_filename(
        fmt::format(".{}.{}.tmp", target->filename().string(), unique_suffix()));

    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) return failure("write", path, errno);
    // Synced before the rename, so that a power cut cannot leave an empty file under the name.
    bool written = write_all(file.get(), content) && ::fsync(file.get()) == 0 && file.close() == 0;
    if (!written || ::rename(temporary.c_str(), target->c_str()) != 0) {
        Error error = failure("write", path, errno);
        ::unlink(temporary.c_str());
        return error;
    }
    return Ok{};
}

Result<> append_to_file(const fs::path& path, std::string_view content) {
    if (path.has_parent_path())
        if (auto made = make_folder(path.parent_path()); !made) return made;
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (file.get() < 0) return failure("write", path, errno);
    const off_t before = ::lseek(file.get(), 0, SEEK_END);
    if (write_all(file.get(), content)) return Ok{};
    Error error = failure("write", path, errno);
    // The start of a line would spoil the ones after it.
    [[maybe_unused]] const int cut = before < 0 ? 0 : ::ftruncate(file.get(), before);
    return error;
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

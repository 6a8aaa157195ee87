#include "support/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>

namespace fact {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as many as Linux follows
// The part of a file's name that its temporary file's name repeats; names have at most 255 bytes.
constexpr std::size_t kLongStem = 200;

// The permissions of an ordinary new file; those of mkostemp and mkdtemp exclude other users.
mode_t usual_mode(mode_t wanted) {
    // umask() cannot be read without setting it, which would affect other threads.
    static const mode_t mask = [] {
        std::ifstream status("/proc/self/status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("Umask:"))
                return static_cast<mode_t>(std::strtoul(line.c_str() + 6, nullptr, 8));
        return static_cast<mode_t>(022);
    }();
    return wanted & ~mask;
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
    if (::fstat(fd, &status) != 0) return file_error("read", path, errno);
    if (S_ISDIR(status.st_mode)) return file_error("read", path, EISDIR);
    const Error too_large{
        fmt::format("{} is larger than {} bytes, the most that is read", path.string(), max_bytes),
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
        if (count < 0) return file_error("read", path, errno);
        if (count == 0) break;
        used += static_cast<std::size_t>(count);
    }
    content.resize(used);
    return content;
}

Result<> make_folder(const fs::path& folder) {
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) return file_error("make the folder", folder, code.value());
    return Ok{};
}

}  // namespace

Error file_error(std::string_view what, const fs::path& path, int code) {
    if (code == ENOSPC || code == EDQUOT) {
        std::error_code ignored;
        const fs::path full = fs::absolute(path, ignored);
        const fs::path folder = fs::is_directory(full, ignored) ? full : full.parent_path();
        return {fmt::format("no space left on the disk of {}: cannot {} {}", folder.string(), what,
                            path.string()),
                "free some space on that disk"};
    }
    Error error{fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(code)), ""};
    if (code == ENOENT) error.hint = "check the path";
    if (code == EACCES || code == EPERM || code == EROFS)
        error.hint = "choose a place you may write to, or change its permissions";
    if (code == EFBIG) error.hint = "raise the limit on the size of files (ulimit -f)";
    return error;
}

Result<std::string> read_file(const fs::path& path) {
    return read_file(path, std::numeric_limits<std::size_t>::max());
}

Result<std::string> read_file(const fs::path& path, std::size_t max_bytes) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return file_error("read", path, errno);
    return read_all(file.get(), path, max_bytes);
}

Result<std::string> read_standard_input(std::size_t max_bytes) {
    return read_all(STDIN_FILENO, "standard input", max_bytes);
}

Result<fs::path> file_to_replace(const fs::path& path) {
    fs::path target = path;
    std::error_code code;
    for (int links = 0; fs::is_symlink(fs::symlink_status(target, code)); ++links) {
        if (links == kMaxLinks) return file_error("write", path, ELOOP);
        const auto next = fs::read_symlink(target, code);
        if (code) return file_error("write", path, code.value());
        target = target.parent_path() / next;
    }
    const auto status = fs::status(target, code);
    if (fs::exists(status) && !fs::is_regular_file(status))
        return Error{fmt::format("cannot write {}: it is {}, not a regular file", path.string(),
                                 fs::is_directory(status) ? "a folder" : "a device or a pipe"),
                     "choose another output"};
    return target;
}

Result<fs::path> file_to_replace(const fs::path& path, std::string_view begins,
                                 std::string_view kind) {
    auto target = file_to_replace(path);
    if (!target) return target;
    std::ifstream file(*target, std::ios::binary);
    std::string start(begins.size(), '\0');
    file.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(file.gcount()));
    if (!start.empty() && start != begins)
        return Error{fmt::format("{} exists and is not {}", path.string(), kind),
                     "choose another output, or remove that file yourself"};
    return target;
}

Result<> write_file_atomic(const fs::path& path, std::string_view content) {
    const auto target = file_to_replace(path);
    if (!target) return target.error();
    if (target->has_parent_path())
        if (auto made = make_folder(target->parent_path()); !made) return made;
    const std::string stem = fmt::format(".{}", target->filename().string().substr(0, kLongStem));
    std::string temporary = (target->parent_path() / (stem + ".tmp.XXXXXX")).string();
    Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (file.get() < 0) return file_error("write", path, errno);
    ::fchmod(file.get(), usual_mode(0666));
    // Synced before the rename, so that a power cut cannot leave an empty file under the name.
    bool written = write_all(file.get(), content) && ::fsync(file.get()) == 0 && file.close() == 0;
    if (!written || ::rename(temporary.c_str(), target->c_str()) != 0) {
        Error error = file_error("write", path, errno);
        ::unlink(temporary.c_str());
        return error;
    }
    return Ok{};
}

Result<> copy_whole_file(const fs::path& from, const fs::path& to) {
    Descriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (in.get() < 0) return file_error("read", from, errno);
    Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (out.get() < 0) return file_error("write", to, errno);
    std::string piece(1 << 20, '\0');
    for (;;) {
        const ssize_t count = ::read(in.get(), piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return file_error("read", from, errno);
        if (count == 0) break;
        if (!write_all(out.get(), {piece.data(), static_cast<std::size_t>(count)}))
            return file_error("write", to, errno);
    }
    // Some file systems report only here that they are full.
    if (::fsync(out.get()) != 0 || out.close() != 0) return file_error("write", to, errno);
    return Ok{};
}

bool disk_is_full(const fs::path& folder) {
    constexpr std::uint64_t kReserved = 64 * 1024;  // what some file systems keep for themselves
    struct statvfs disk{};
    return ::statvfs(folder.c_str(), &disk) == 0 && disk.f_bavail * disk.f_frsize < kReserved;
}

Result<> append_to_file(const fs::path& path, std::string_view content) {
    if (path.has_parent_path())
        if (auto made = make_folder(path.parent_path()); !made) return made;
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (file.get() < 0) return file_error("write", path, errno);
    const off_t before = ::lseek(file.get(), 0, SEEK_END);
    if (write_all(file.get(), content)) return Ok{};
    Error error = file_error("write", path, errno);
    // An incomplete line would damage the lines after it, so it is removed.
    [[maybe_unused]] const int cut = before < 0 ? 0 : ::ftruncate(file.get(), before);
    return error;
}

Result<> ensure_writable_folder(const fs::path& folder) {
    if (auto made = make_folder(folder); !made) return made;
    std::string probe = (folder / ".probe.XXXXXX").string();
    Descriptor file(::mkostemp(probe.data(), O_CLOEXEC));
    if (file.get() < 0) return file_error("write in", folder, errno);
    ::unlink(probe.c_str());
    return Ok{};
}

TemporaryFolder::TemporaryFolder(const fs::path& parent, std::string_view stem) {
    const auto refuse = [&](int code) {
        throw FileFailure(file_error("make a temporary folder in", parent, code));
    };
    std::error_code code;
    fs::create_directories(parent, code);
    if (code) refuse(code.value());
    std::string pattern = (parent / fmt::format("{}.XXXXXX", stem)).string();
    if (::mkdtemp(pattern.data()) == nullptr) refuse(errno);
    path_ = pattern;
    ::chmod(path_.c_str(), usual_mode(0777));
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

bool is_plain_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_';
    });
}

}  // namespace fact

#include "support/lock_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace fact {

Error cannot_lock(const std::filesystem::path& file, int code) {
    return {fmt::format("cannot lock {}: {}", file.string(), std::strerror(code)),
            "choose a folder on a local disk that you may write to"};
}

bool is_at(int descriptor, const std::filesystem::path& file) {
    struct stat open{}, named{};
    return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

void write_process_id(int descriptor) {
    const auto text = fmt::format("{}\n", ::getpid());
    if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, text.data(), text.size(), 0) < 0)
        return;  // only the message of waiting processes is less specific
}

std::string holder_of(int descriptor) {
    char text[32] = {};
    if (::pread(descriptor, text, sizeof text - 1, 0) <= 0) return "another process";
    return fmt::format("process {}", std::strtol(text, nullptr, 10));
}

}  // namespace fact

// Lets one process at a time do something: a lock that is released when its process ends, however
// that happens.
#pragma once

#include <filesystem>
#include <string_view>

#include "support/result.h"

namespace fact {

// A locked file, which is removed when the lock is released. A file that a killed process left
// behind is not locked.
class FileLock {
  public:
    // Waits while another process has the lock, and says so on standard error: "waiting for process
    // 7 to finish with <what>". Ctrl-C ends the wait with an Error. A file system without locks is
    // an Error too: two processes at once would damage each other's files.
    static Result<FileLock> take(const std::filesystem::path& file, std::string_view what);

    FileLock(FileLock&& other) noexcept;
    FileLock& operator=(FileLock&& other) = delete;
    ~FileLock();

  private:
    FileLock(std::filesystem::path file, int descriptor);
    std::filesystem::path file_;
    int descriptor_ = -1;
};

}  // namespace fact

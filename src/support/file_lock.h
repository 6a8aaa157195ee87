// One process at a time: a lock that goes when its process does, however that ends.
#pragma once

#include <filesystem>
#include <string_view>

#include "support/result.h"

namespace fact {

// A file that is locked, and removed when given back; one that a killed process left is no lock.
class FileLock {
  public:
    // Waits while another process has it, and says so on standard error: "waiting for process 7 to
    // finish with <what>". Ctrl-C ends the wait with an Error. A file system without locks is
    // an Error too: two at once would spoil each other's files.
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

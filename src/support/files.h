// Files that are either whole or absent.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/result.h"

namespace fact {

// "cannot WHAT PATH: why", by the system's error code; a full disk is named by the folder on it.
Error file_error(std::string_view what, const std::filesystem::path& path, int code);

Result<std::string> read_file(const std::filesystem::path& path);
// The same for a file that strangers may have chosen: more than `max_bytes` is an Error, and so is
// an endless device.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes);
Result<std::string> read_standard_input(std::size_t max_bytes);
// Where a file written as `path` has to be put: a link stands for its target. What is there and is
// no regular file is never replaced.
Result<std::filesystem::path> file_to_replace(const std::filesystem::path& path);
// The same for a kind of file that begins in a known way: what is there and begins otherwise is
// somebody else's, and stays. `kind`: "an archive".
Result<std::filesystem::path> file_to_replace(const std::filesystem::path& path,
                                              std::string_view begins, std::string_view kind);
// Writes to a temporary name in the same folder and renames; makes the folder when missing.
Result<> write_file_atomic(const std::filesystem::path& path, std::string_view content);
// Makes `to`, which is not there yet; std::filesystem's own calls a full disk an input/output
// error.
Result<> copy_whole_file(const std::filesystem::path& from, const std::filesystem::path& to);
// Adds to the end of a file, made when missing: all of it or, where the disk is full, nothing.
Result<> append_to_file(const std::filesystem::path& path, std::string_view content);
// Whether next to nothing can be written on the disk that holds `folder`.
bool disk_is_full(const std::filesystem::path& folder);
// Whether files can be made in `folder` (made when missing); says why not.
Result<> ensure_writable_folder(const std::filesystem::path& folder);

// Whether a name that a stranger gave is letters, digits and "_" only: no path to anywhere else.
bool is_plain_name(std::string_view name);

// What a constructor cannot return.
struct FileFailure : std::runtime_error {
    explicit FileFailure(Error why) : std::runtime_error(why.text()), error(std::move(why)) {}
    Error error;
};

// A folder removed with everything in it when the object goes. FileFailure where it cannot be made.
class TemporaryFolder {
  public:
    explicit TemporaryFolder(const std::filesystem::path& parent, std::string_view stem);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace fact

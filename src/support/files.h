// Reading files, and writing them so that they are either complete or absent.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/result.h"

namespace fact {

// "cannot WHAT PATH: why", by the system's error code; for a full disk the message names the
// folder.
Error file_error(std::string_view what, const std::filesystem::path& path, int code);

Result<std::string> read_file(const std::filesystem::path& path);
// The same for an untrusted path: a file of more than `max_bytes`, or an endless device, is an
// Error.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes);
Result<std::string> read_standard_input(std::size_t max_bytes);
// Where to put the new content of `path`: `path` itself or, if it is a link, its target. An Error
// if something is there that is not a regular file.
Result<std::filesystem::path> file_to_replace(const std::filesystem::path& path);
// The same for a kind of file that begins with `begins`: an existing file that begins otherwise is
// not ours, and is an Error. `kind` is for the message: "an archive".
Result<std::filesystem::path> file_to_replace(const std::filesystem::path& path,
                                              std::string_view begins, std::string_view kind);
// Writes under a temporary name in the same folder and renames; makes the folder if missing.
Result<> write_file_atomic(const std::filesystem::path& path, std::string_view content);
// Copies to `to`, which must not exist. (std::filesystem reports a full disk as an input/output
// error.)
Result<> copy_whole_file(const std::filesystem::path& from, const std::filesystem::path& to);
// Appends to a file, made if missing: all of the content or, if the disk is full, nothing.
Result<> append_to_file(const std::filesystem::path& path, std::string_view content);
// Whether the disk of `folder` is full or nearly full.
bool disk_is_full(const std::filesystem::path& folder);
// Makes `folder` if missing; an Error says why no files can be made in it.
Result<> ensure_writable_folder(const std::filesystem::path& folder);

// Whether an untrusted name has letters, digits and "_" only, and so cannot be a path elsewhere.
bool is_plain_name(std::string_view name);

// Thrown by constructors, which cannot return an Error.
struct FileFailure : std::runtime_error {
    explicit FileFailure(Error why) : std::runtime_error(why.text()), error(std::move(why)) {}
    Error error;
};

// A folder that is removed with everything in it when the object is destroyed. The constructor
// throws FileFailure if the folder cannot be made.
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

// What FileLock and SharedLock have in common: open files with flock's lock on them, which name
// their holder.
#pragma once

#include <filesystem>
#include <string>

#include "support/result.h"

namespace fact {

Error cannot_lock(const std::filesystem::path& file, int code);

// Whether the name `file` still refers to the open file: its holder, or another, may remove it.
bool is_at(int descriptor, const std::filesystem::path& file);

void write_process_id(int descriptor);
// "process 7", or "another process" if the file does not say which.
std::string holder_of(int descriptor);

}  // namespace fact

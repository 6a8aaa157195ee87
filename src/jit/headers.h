// The headers that a compiler read: lists of files with their hashes, kept in the store, so that an
// edit of any of them is noticed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "jit/compiler.h"

namespace fact::jit {

// The headers named in a make rule that `nvcc -MD` wrote. Relative paths are left out: they are
// files in the folder of the unit, where nvcc runs, such as kernel.cu.
std::vector<std::filesystem::path> headers_in_make_rule(std::string_view rule);

// Whether one of `headers` was written after `file`, or one of these files is gone. A header whose
// time is in the future, as after the clock was set back, counts as not written.
bool any_written_since(const std::filesystem::path& file,
                       const std::vector<std::filesystem::path>& headers);

// Puts the list of headers and their hashes into the store, and returns its name. Headers in the
// toolchain's folders are listed relative to them, so that the list does not depend on where a
// folder is.
Result<std::string> keep_headers(const std::vector<std::filesystem::path>& headers,
                                 const Toolchain& toolchain, const std::filesystem::path& store);

// Whether every header of the list is unchanged. Files whose size and times have not changed since
// the last check are not read again.
bool headers_unchanged(const std::string& list, const Toolchain& toolchain,
                       const std::filesystem::path& store);

}  // namespace fact::jit

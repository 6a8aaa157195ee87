// What a compiler read beside its source: lists of files and their content, kept in the store, so
// that an edit of any of them is noticed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "jit/compiler.h"

namespace fact::jit {

// The headers that a rule written by `nvcc -MD` names; not what lies in the unit's own folder.
std::vector<std::filesystem::path> headers_in_rule(std::string_view rule);

// Whether one of them was written since `file` was, or is gone. A time that is still to come, as of
// a clock that was set back, says nothing.
bool any_written_since(const std::filesystem::path& file,
                       const std::vector<std::filesystem::path>& headers);

// Puts the list of headers and their content into the store; its name. Those of the toolchain's own
// folders are listed relative to them, so that the list does not move with a folder.
Result<std::string> keep_headers(const std::vector<std::filesystem::path>& headers,
                                 const Toolchain& toolchain, const std::filesystem::path& store);

// Whether every header of the list is still what it was. Files whose size and times are as they
// were when last looked at are not read again.
bool headers_unchanged(const std::string& list, const Toolchain& toolchain,
                       const std::filesystem::path& store);

}  // namespace fact::jit

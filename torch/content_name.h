// The name by which an operator refers to a package or a kernel: a hash of its content and its
// path, so that the name means the same bytes in any process, wherever it is kept (in a module, a
// pickle, an exported program, a compiled graph).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "support/result.h"

namespace fact::exec {

struct ContentName {
    std::string hash;            // SHA-256 of the content, 64 hex digits
    std::filesystem::path path;  // absolute
    bool operator==(const ContentName&) const = default;

    // "HASH PATH"
    std::string text() const;
    static Result<ContentName> parse(std::string_view text);
};

// The absolute path, with links left as they are.
std::filesystem::path absolute_path(const std::filesystem::path& path);

// Why a name cannot be opened: the path has other content, or cannot be opened at all.
Error other_content(const ContentName& name, const std::string& found_hash);
Error cannot_open_again(const ContentName& name, const Error& why);

}  // namespace fact::exec

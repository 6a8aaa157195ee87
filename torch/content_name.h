// The name under which an operator knows a package or a kernel: what it holds and where it lies, so
// that whoever keeps the name (a module, a pickle, an exported program, a compiled graph) means
// those very bytes, in any process.
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

// The path as any process finds it, links left as they are.
std::filesystem::path absolute_path(const std::filesystem::path& path);

// Why what was named cannot be had: the path holds something else, or cannot be opened at all.
Error other_content(const ContentName& name, const std::string& found);
Error cannot_open_again(const ContentName& name, const Error& why);

}  // namespace fact::exec

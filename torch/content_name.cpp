#include "torch/content_name.h"

#include <fmt/format.h>

namespace fact::exec {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kHashDigits = 64;

std::string put_back(const ContentName& name) {
    return fmt::format(
        "put the folder with the SHA-256 {} back at that path, or load what you have by its own "
        "path (fact.load, fact.kernel) and pickle, export or compile that",
        name.hash);
}

}  // namespace

std::string ContentName::text() const {
    return hash + ' ' + path.string();
}

Result<ContentName> ContentName::parse(std::string_view text) {
    const auto digits = text.substr(0, kHashDigits);
    if (text.size() < kHashDigits + 2 || text[kHashDigits] != ' ' ||
        digits.find_first_not_of("0123456789abcdef") != digits.npos)
        return Error{fmt::format("'{}' names no package and no kernel: a name is a SHA-256 and a "
                                 "path with a space between them",
                                 text),
                     {}};
    return ContentName{std::string(digits), fs::path(text.substr(kHashDigits + 1))};
}

fs::path absolute_path(const fs::path& path) {
    auto whole = fs::absolute(path).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();  // without a slash at the end
}

Error other_content(const ContentName& name, const std::string& found_hash) {
    return {fmt::format("{} is not what it was when this module was loaded, pickled or exported: "
                        "its content had the SHA-256 {}, now it has {}",
                        name.path.string(), name.hash, found_hash),
            put_back(name)};
}

Error cannot_open_again(const ContentName& name, const Error& why) {
    return {fmt::format("{} with the SHA-256 {} cannot be opened again: {}", name.path.string(),
                        name.hash, why.message),
            why.hint.empty() ? put_back(name) : why.hint};
}

}  // namespace fact::exec

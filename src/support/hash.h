// SHA-256, for names that follow from content.
#pragma once

#include <string>
#include <string_view>

namespace fact {

std::string sha256_hex(std::string_view bytes);
// The first 16 hex digits: enough for file names.
std::string short_hash(std::string_view bytes);

}  // namespace fact

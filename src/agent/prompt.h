// Prompts from files that people can read: prompts/<name>.md with {{placeholders}}.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"

namespace fact::agent {

// Names of placeholders, and what replaces them.
using Places = std::vector<std::pair<std::string, std::string>>;

// Very long values are cut, so that a prompt stays bounded. A placeholder without a value is a
// defect of the file, and an Error.
Result<std::string> fill_prompt(const std::filesystem::path& file, const Places& places);

// As many of the first lines as fit into `max_bytes`, and how many were left out.
std::string bounded(const std::vector<std::string>& lines, std::size_t max_bytes);

}  // namespace fact::agent

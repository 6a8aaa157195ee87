// The files of a package against its manifest.
#pragma once

#include <filesystem>
#include <string>

#include "package/manifest.h"
#include "support/result.h"

namespace fact::package {

// Every file under `folder` with its size and hash, but for a manifest.
Result<Files> list_files(const std::filesystem::path& folder);

// Whether every file of the manifest is there as it was written; the Error names the first that is
// not. Files that it does not list are nobody's business: nothing reads them.
Result<> check_files(const std::filesystem::path& folder, const Manifest& manifest);

// Where one of the manifest's files lies; an Error where it lists none of that name.
Result<std::filesystem::path> path_of(const std::filesystem::path& folder, const Manifest& manifest,
                                      const std::string& path);

// Whether `folder` is a package, whole, and nothing else, so that nothing of anybody else's is lost
// with it. The archive counts by its size: it may be large, and nobody edits it by hand.
Result<> check_nothing_else(const std::filesystem::path& folder);

}  // namespace fact::package

// Checks the files of a package against its manifest.
#pragma once

#include <filesystem>
#include <string>

#include "package/manifest.h"
#include "support/result.h"

namespace fact::package {

// Every file under `folder` except a manifest, with its size and hash.
Result<Files> list_files(const std::filesystem::path& folder);

// Whether every file of the manifest is there and unchanged; the Error names the first that is not.
// Other files are ignored: nothing reads them.
Result<> check_files(const std::filesystem::path& folder, const Manifest& manifest);

// The path of one of the manifest's files; an Error if the manifest does not list it.
Result<std::filesystem::path> path_of(const std::filesystem::path& folder, const Manifest& manifest,
                                      const std::string& path);

// Whether `folder` is an intact package without other files, so that deleting it loses nothing
// else. Only the size of the archive is checked: it may be large, and nobody edits it by hand.
Result<> check_nothing_else(const std::filesystem::path& folder);

}  // namespace fact::package

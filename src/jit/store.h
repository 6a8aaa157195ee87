// One entry of the content-addressed store: kernel.cu, kernel.cubin, log.txt and meta.json, which
// says what the cubin's size and hash are and what was read to make it.
#pragma once

#include <filesystem>
#include <string>

#include "jit/compiler.h"

namespace fact::jit {

// The entry of that key, whole and by the headers of today; else an Error.
Result<Artifact> stored(const std::filesystem::path& store, const std::string& key,
                        const Toolchain& toolchain);

// Writes meta.json into the folder of a unit that was compiled and makes it the entry of that key.
// An entry of another process is equally good; a damaged or outdated one is replaced.
Result<Artifact> publish(const std::filesystem::path& folder, const std::filesystem::path& store,
                         const std::string& key, const Unit& unit, const Toolchain& toolchain,
                         const std::string& headers, double seconds);

}  // namespace fact::jit

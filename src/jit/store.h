// One entry of the content-addressed store: kernel.cu, kernel.cubin, log.txt and meta.json, which
// has the cubin's size and hash and names the list of headers that were read.
#pragma once

#include <filesystem>
#include <string>

#include "jit/compiler.h"

namespace fact::jit {

// The entry of that key; an Error if it is missing or damaged, or if headers that the compiler read
// have changed.
Result<Artifact> find_entry(const std::filesystem::path& store, const std::string& key,
                            const Toolchain& toolchain);

// Writes meta.json into the folder of a compiled unit and makes it the entry of that key. If
// another process has just made a valid entry, that one is used; a damaged or outdated one is
// replaced.
Result<Artifact> publish(const std::filesystem::path& folder, const std::filesystem::path& store,
                         const std::string& key, const Unit& unit, const Toolchain& toolchain,
                         const std::string& headers, double seconds);

}  // namespace fact::jit

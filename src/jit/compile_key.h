// The key of a cubin: a hash of what determines it. Headers that are not FACT's are not part of it,
// since which of them are read is known only after compiling (jit/headers.h).
#pragma once

#include <string>
#include <vector>

#include "jit/compiler.h"

namespace fact::jit {

// The compiler's options that change the cubin; no paths, so that the key does not depend on where
// a folder is.
std::vector<std::string> code_flags(const std::string& arch);

// FACT's headers that `source` includes, directly or through others, sorted and relative to the
// kernels folder.
std::vector<std::string> header_closure(const std::string& source,
                                        const std::filesystem::path& kernels_folder);

// The part of the key that does not depend on the compiler: the source and the skeletons.
std::string code_hash(const std::string& source, const std::filesystem::path& kernels_folder);

std::string compile_key(const Unit& unit, const Toolchain& toolchain);

}  // namespace fact::jit

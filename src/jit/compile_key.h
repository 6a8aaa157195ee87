// What a cubin follows from, as a name. What others' headers say is not part of it: who read which
// is known only when it is compiled (jit/headers.h).
#pragma once

#include <string>
#include <vector>

#include "jit/compiler.h"

namespace fact::jit {

// The compiler's options that change the cubin; no paths, so that the key does not move with a
// folder.
std::vector<std::string> code_flags(const std::string& arch);

// Our headers that `source` includes, directly or not, relative to the kernels folder and sorted.
std::vector<std::string> header_closure(const std::string& source,
                                        const std::filesystem::path& kernels_folder);

// The part of the key that is FACT's own: the source and the skeletons, by whatever compiler.
std::string code_hash(const std::string& source, const std::filesystem::path& kernels_folder);

std::string compile_key(const Unit& unit, const Toolchain& toolchain);

}  // namespace fact::jit

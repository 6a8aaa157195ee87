// What a record is found by.
#pragma once

#include <string>
#include <string_view>

#include "registry/record.h"

namespace fact::registry {

// The name of a record's file: 16 hex digits of everything the result follows from (the work and
// the versions of the compiler and of CUTLASS). Paths, names and dates are no part of it. FACT's
// own code is not either: after a change of it the new record takes the old one's place.
std::string key(const Work& work, std::string_view toolchain_versions);
inline std::string key(const Record& record) {
    return key(record.work, record.toolchain.versions);
}

// The text without the kernel's name, wherever it stands.
std::string nameless(std::string_view text);

// The same computation whatever the numbers in it: kernel text without its name and its literals,
// element types included.
std::string rule_identity(std::string_view text);

// "h200", or the driver's words in small letters: the folder of a GPU's records.
std::string gpu_folder(std::string_view gpu);

// Whether both say the same of what is computed on which GPU, by whatever subgraph of torch's it
// was checked.
bool same_work(const Work& a, const Work& b);

}  // namespace fact::registry

// The key by which a record is found.
#pragma once

#include <string>
#include <string_view>

#include "registry/record.h"

namespace fact::registry {

// The name of a record's file: 16 hex digits, a hash of everything the result depends on (the work
// and the versions of the compiler and of CUTLASS) except paths, names, dates and FACT's own code:
// after a change of that code a new record replaces the old one.
std::string key(const Work& work, std::string_view toolchain_versions);
inline std::string key(const Record& record) {
    return key(record.work, record.toolchain.versions);
}

// The text with every occurrence of the kernel's name replaced by "_".
std::string without_kernel_name(std::string_view text);

// Identifies a computation whatever its numbers: the kernel text without its name and its literals,
// but with its element types.
std::string rule_identity(std::string_view text);

// The folder of a GPU's records: "h200", or the driver's name in lower case.
std::string gpu_folder(std::string_view gpu);

// Whether both are the same computation on the same GPU, even if they were checked against
// different torch subgraphs.
bool same_work(const Work& a, const Work& b);

}  // namespace fact::registry

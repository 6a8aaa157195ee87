// The key by which a record is found.
#pragma once

#include <string>
#include <string_view>

#include "registry/record.h"

namespace fact::registry {

// The name of a record's file: 16 hex digits, a hash of everything that the result depends on (the
// work and the versions of the compiler and of CUTLASS), except FACT's own code: after a change of
// that code a new record replaces the old one. Paths, dates and the kernel's name are not part of
// it.
std::string key(const Work& work, std::string_view toolchain_versions);
inline std::string key(const Record& record) {
    return key(record.work, record.toolchain.versions);
}

// The text with every occurrence of the kernel's name replaced by "_".
std::string without_kernel_name(std::string_view text);

// A hash of the kernel text without its name and its numbers: equal for the same computation with
// other literals. Element types are part of it.
std::string rule_identity(std::string_view text);

// The folder of a GPU's records: "h200", or the driver's name in lower case.
std::string gpu_folder(std::string_view gpu);

// Whether both are the same computation on the same GPU, even if they were checked against
// different torch subgraphs.
bool same_work(const Work& a, const Work& b);

}  // namespace fact::registry

// Records as one file for transfer: one line of JSON per record.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/store.h"

namespace fact::registry {

// Which records are wanted; an empty field matches everything.
struct Filter {
    std::string gpu;    // "h200", or part of the driver's name
    std::string rule;   // of discovery, or the kernel's name
    std::string dtype;  // of the operands
};
bool passes(const Record& record, const Filter& filter);

// One line per record, in the order given.
std::string to_lines(const std::vector<Entry>& entries);

struct Imported {
    int added = 0, replaced = 0, kept = 0;  // Registry::Put
    struct Refusal {
        int line = 0;  // from 1
        std::string why;
    };
    std::vector<Refusal> refused;
};

// Reads records, one per line, or a single record spread over many lines; blank lines are skipped.
// All of the text is checked before the first record is written. An Error only if records cannot be
// written.
Result<Imported> import_lines(const Registry& registry, std::string_view text);

}  // namespace fact::registry

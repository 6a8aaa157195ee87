// Records as one file that travels: a line of JSON each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/store.h"

namespace fact::registry {

// What is asked for; "" and no date ask for everything.
struct Filter {
    std::string gpu;    // "h200", or part of the driver's name
    std::string rule;   // of discovery, or the kernel's name
    std::string dtype;  // of the operands
};
bool passes(const Record& record, const Filter& filter);

// One line a record, in the order given.
std::string to_lines(const std::vector<Entry>& entries);

struct Imported {
    int added = 0, replaced = 0, kept = 0;
    struct Refusal {
        int line = 0;  // from 1
        std::string why;
    };
    std::vector<Refusal> refused;
};

// Reads lines of records, or one record written over many lines; blank lines are skipped. All of
// the text is checked before the first record is put. An Error only where records cannot be
// written.
Result<Imported> import_lines(const Registry& registry, std::string_view text);

}  // namespace fact::registry

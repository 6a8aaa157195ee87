#include "tune/journal.h"

#include "support/files.h"

namespace fact::tune {

void Journal::add(std::string_view line) {
    if (auto added = append_to_file(path_, line); !added && !failure_) failure_ = added.error();
}

}  // namespace fact::tune

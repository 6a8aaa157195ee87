// The text a kernel was written in, so that emitted code can name the lines it came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace fact::ir {

class SourceText {
  public:
    // `name` is the file's; folders are dropped, and control characters become '?'.
    SourceText(std::string_view name, std::string_view text);

    // "mlp.fact:3"; "" for an empty span.
    std::string line_of(Span span) const;

  private:
    std::string name_;
    std::vector<std::uint32_t> line_begins_;
};

}  // namespace fact::ir

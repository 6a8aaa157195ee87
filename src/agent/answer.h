// What a language model's answer holds. It is untrusted input: prose, another language, anything.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace fact::agent {

struct Named {
    std::vector<std::string> nodes;
    std::string why;
};

// The sets of operators that {"proposals": [...]} names, wherever it stands in the answer.
Result<std::vector<Named>> read_proposals(const std::string& answer);

// The sets of patterns that {"sets": [["id", ...], ...]} names.
Result<std::vector<std::vector<std::string>>> read_sets(const std::string& answer);

// The last code block, without its fences.
Result<std::string> read_code_block(const std::string& answer);

// The kernel text: the last code block, or all of it from the word `kernel` on.
Result<std::string> read_kernel_text(const std::string& answer);

// Whether the answer is that nothing better is seen: the word STOP, and no code.
bool gives_up(const std::string& answer);

}  // namespace fact::agent

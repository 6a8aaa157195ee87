// Reads a language model's answer. It is untrusted input: prose, another language, anything.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace fact::agent {

// A set of operators that the model proposes.
struct ProposedSet {
    std::vector<std::string> nodes;
    std::string why;
    std::string mistake = {};  // why the set cannot be read; it has no nodes then
};

// A set of patterns that the model would compose.
struct PatternSet {
    std::vector<std::string> patterns;
    std::string mistake = {};  // why the set cannot be read; it has no patterns then
};

// The sets of operators in {"proposals": [...]}, which may be anywhere in the answer. If there are
// several such objects, the last complete one counts: models show an example first.
Result<std::vector<ProposedSet>> read_proposals(const std::string& answer);

// The sets of patterns in {"sets": [["id", ...], ...]}, found in the same way.
Result<std::vector<PatternSet>> read_sets(const std::string& answer);

// The last code block, without its fences.
Result<std::string> read_code_block(const std::string& answer);

// The kernel text: the last code block, or the whole answer from the word `kernel` on.
Result<std::string> read_kernel_text(const std::string& answer);

// Whether the model sees nothing better: the answer begins with the word STOP and has no code.
bool gives_up(const std::string& answer);

}  // namespace fact::agent

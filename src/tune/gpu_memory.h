// How much of a GPU's memory the proof of a call takes, beside the proofs of other runs.
#pragma once

#include <string>
#include <string_view>

namespace fact::tune {

// little: any number of runs beside each other; some: a dozen; much: no other such call, nor any
// that needs some.
enum class MemoryShare { little, some, much };

// By the size of the call's inputs and results; `call` is the path of the FusedCall's JSON. A file
// that cannot be read counts as little: the worker says what is wrong with it.
MemoryShare memory_share(const std::string& call);

// Whether a failure of torch or of the driver says that the GPU's memory was used up.
bool says_out_of_memory(std::string_view failure);

}  // namespace fact::tune

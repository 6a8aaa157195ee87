// A kernel written in CUDA, as a kernel text: the language only declares its tensors, and comments
// before it contain the CUDA. So it can be stored and sent like any other text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fact::dsl {

// `interface`: a kernel text that declares the tensors; what it computes is ignored.
std::string cuda_text(std::string_view source, const std::string& interface);

// The CUDA source; nullopt if the text is an ordinary one.
std::optional<std::string> cuda_source(std::string_view text);

}  // namespace fact::dsl

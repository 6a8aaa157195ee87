// A kernel that is written in CUDA, as a text: the language says what its tensors are and computes
// nothing of use, and the CUDA stands in comments before it. So it travels as every text does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fact::dsl {

std::string cuda_text(std::string_view source, const std::string& interface);

// The CUDA; nothing where the text is one of the language's own.
std::optional<std::string> cuda_source(std::string_view text);

}  // namespace fact::dsl

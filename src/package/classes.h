// The Python classes that a call's arguments and results are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fact::package {

// Full names of the classes in pytree descriptions as torch.export writes them, in order, each
// once: "transformers.modeling_outputs.BaseModelOutput". Python's own containers are not among
// them. What is no description has none.
std::vector<std::string> classes_of(const std::vector<std::string_view>& specs);

}  // namespace fact::package

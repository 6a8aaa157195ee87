// The Python classes that a call's arguments and results are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fact::package {

// Full names of the classes in pytree descriptions as torch.export writes them, sorted, without
// repetition: "transformers.modeling_outputs.BaseModelOutput". Python's own containers are left
// out, and strings that are no descriptions are ignored.
std::vector<std::string> classes_of(const std::vector<std::string_view>& specs);

}  // namespace fact::package

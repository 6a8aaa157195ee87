// Warns a user that a part of a module runs as torch's operators instead of its kernel.
#pragma once

#include <string>

namespace fact::exec {

// Through the operator fact::fell_back if it is implemented (the Python package does, with a
// fact.FallbackWarning), else as a warning of torch.
void warn_of_fallback(const std::string& text);

}  // namespace fact::exec

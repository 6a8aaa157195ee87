// Where a user is told that a part of a module runs as torch's operators instead of its kernel.
#pragma once

#include <string>

namespace fact::exec {

// By the operator fact::fell_back where somebody implements it (the Python package: a
// fact.FallbackWarning), else as a warning of torch's.
void warn_of_fallback(const std::string& text);

}  // namespace fact::exec

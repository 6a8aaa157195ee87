// Distinguishes a GPU that is no longer there from a kernel that crashed on it.
#pragma once

#include <string_view>

#include "support/result.h"

namespace fact::tune {

// Whether a failure of torch or of the driver says that there is no usable GPU (any more): not
// found, lost, in use, broken. After a kernel's crash, in contrast, the next worker works again.
bool says_gpu_is_gone(std::string_view failure);

// The Error that ends the run after such a failure.
Error gpu_gone_error(const Error& failure);

}  // namespace fact::tune

// The header of a .npy file: a Python dictionary of three keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace fact {

struct NpyHeader {
    std::string descr;  // the element type, as in NpyTypeInfo
    bool fortran_order = false;
    std::vector<std::int64_t> shape;  // none negative
};

// "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" and blanks after it.
Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace fact

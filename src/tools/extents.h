// The extents of a kernel's dimensions in one call: given, derived from others, or assumed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace fact::tools {

// The extent given for a dimension.
struct Setting {
    std::string dim;
    std::int64_t extent = 0;
    std::string from;  // for messages: "--set M=128", "x.npy"
};

// From words such as "M=128".
Result<std::vector<Setting>> parse_settings(const std::vector<std::string>& words);

// The extents of the array given for `tensor`.
Result<std::vector<Setting>> settings_of(const ir::Kernel& kernel, const ir::Tensor& tensor,
                                         const std::vector<std::int64_t>& sizes,
                                         std::string_view from);

struct Extents {
    std::vector<std::int64_t> of;  // by dimension id
    std::vector<bool> assumed;     // neither given nor derived

    std::int64_t operator[](ir::DimId dim) const { return of[ir::index(dim)]; }
};

// How large the extents are that are neither given nor derived.
enum class Assume {
    small,    // quick to interpret
    typical,  // worth a GPU: thousands of rows, a handful of batches
};

// An Error says which settings contradict each other or the text.
Result<Extents> bind_extents(const ir::Kernel& kernel, const std::vector<Setting>& settings,
                             Assume assume);

// "M = 128, N = 16 (assumed)": every dimension of the kernel that is not a constant.
std::string describe(const ir::Kernel& kernel, const Extents& extents);

// The number of elements of a tensor; a double, since it may overflow an integer.
double num_elements(const Extents& extents, const std::vector<ir::DimId>& dims);
std::vector<std::int64_t> sizes_of(const Extents& extents, const std::vector<ir::DimId>& dims);

}  // namespace fact::tools

// Reads values that torch.export's JSON and FACT's own JSON of graphs have in common.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "support/json_fields.h"

namespace fact::graph {

// A code of torch's for a dtype, a layout or a memory format.
inline int to_code(const nlohmann::json& value) {
    const std::int64_t code = to_int(value);
    if (code < 0 || code > 1000) throw SchemaError(fmt::format("{} is not a known code", code));
    return static_cast<int>(code);
}

template <class T, class Read>
std::vector<T> to_list(const nlohmann::json& list, Read read) {
    std::vector<T> result;
    for (const auto& item : to_array(list)) result.push_back(read(item));
    return result;
}

}  // namespace fact::graph

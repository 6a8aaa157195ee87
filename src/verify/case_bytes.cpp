#include "verify/case_bytes.h"

namespace fact::verify {

std::int64_t case_bytes(const graph::Graph& graph) {
    std::int64_t bytes = 0;
    for (const auto& input : graph.inputs)
        if (const auto& type = graph[input.value].type)
            bytes += graph::storage_length(type->sizes, type->strides) * info(type->dtype).bytes;
    for (const auto& output : graph.outputs)
        if (const auto& type = graph[*output.value].type)
            bytes +=
                graph::storage_length(type->sizes, type->strides) * (info(type->dtype).bytes + 8);
    return bytes;
}

}  // namespace fact::verify

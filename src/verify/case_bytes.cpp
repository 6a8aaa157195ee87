#include "verify/case_bytes.h"

namespace fact::verify {

CaseBytes case_bytes(const graph::Graph& original) {
    CaseBytes bytes;
    const auto length = [](const graph::TensorType& type) {
        return graph::storage_length(type.sizes, type.strides);
    };
    for (const auto& input : original.inputs)
        if (const auto& type = original[input.value].type)
            bytes.inputs += length(*type) * info(type->dtype).bytes;
    for (const auto& output : original.outputs)
        if (const auto& type = original[*output.value].type)
            bytes.results += length(*type) * (info(type->dtype).bytes + 8);
    return bytes;
}

}  // namespace fact::verify

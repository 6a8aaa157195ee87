#include "lower/sm80/access.h"

#include <algorithm>

namespace fact::lower::sm80 {

namespace {

constexpr int kWidest = 16;  // bytes that one copy can move

// The largest power of two, up to kWidest, that divides the tensor's known alignment.
int alignment_of(std::span<const int> alignment, std::size_t tensor) {
    const int known = tensor < alignment.size() ? alignment[tensor] : kWidest;
    return std::min(kWidest, known & -known);
}

int element_bytes(const ir::Tensor& tensor) {
    return info(tensor.type.dtype).bytes;
}

}  // namespace

CopyBytes copy_bytes(const ir::Kernel& kernel, const ProductForm& form,
                     std::span<const int> alignment) {
    const auto bytes_of = [&](const OperandForm& operand) {
        const auto index = static_cast<std::size_t>(operand.param);
        const int element = element_bytes(kernel.params[index]);
        return operand.contiguous ? std::max(element, alignment_of(alignment, index)) : element;
    };
    return {bytes_of(form.a), bytes_of(form.b)};
}

void drop_unaligned_pairs(const ir::Kernel& kernel, std::span<const int> alignment,
                          ProductForm& form) {
    for (EpilogueForm& extra : form.extras) {
        const auto index = static_cast<std::size_t>(extra.tensor);
        if (alignment_of(alignment, index) < 2 * element_bytes(kernel.params[index]))
            extra.paired = false;
    }
    if (alignment_of(alignment, kernel.params.size()) <
        2 * element_bytes(kernel.outputs.front().tensor))
        form.output.paired = false;
}

}  // namespace fact::lower::sm80

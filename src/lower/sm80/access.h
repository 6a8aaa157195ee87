// How wide the kernel reads and writes each tensor, depending on the alignment of addresses and
// strides.
#pragma once

#include <span>

#include "ir/kernel.h"
#include "lower/product/product_form.h"

namespace fact::lower::sm80 {

struct CopyBytes {
    int a = 16, b = 16;  // per copy of an operand: a power of two, at least an element
};
// `alignment` here and below: Options::alignment of lower.h.
CopyBytes copy_bytes(const ir::Kernel& kernel, const ProductForm& form,
                     std::span<const int> alignment);

// Clears `paired` for tensors of the epilogue that are not aligned to pairs.
void drop_unaligned_pairs(const ir::Kernel& kernel, std::span<const int> alignment,
                          ProductForm& form);

}  // namespace fact::lower::sm80

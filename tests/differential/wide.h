// An output as columns of a wider tensor, as kernels write parts of a cat.
#pragma once

#include <string>

#include "gpu/kernel.h"

namespace fact::differential {

// The dense tensor with more columns before its own; its data is still to be set.
gpu::TensorArg in_wider(gpu::TensorArg dense);
// Bytes of the wider tensor, and of what is before the first own column.
std::size_t wide_bytes(const gpu::TensorArg& arg);
std::size_t bytes_before(const gpu::TensorArg& arg);

// Copies the own columns out of the wider tensor's memory; false if others, which held `poison`,
// were written.
bool take_columns(const gpu::TensorArg& arg, const std::string& memory, char poison,
                  std::string& own);

}  // namespace fact::differential

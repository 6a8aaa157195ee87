// Tensors as parts of larger ones, as kernels read and write parts of a cat.
#pragma once

#include <string>
#include <vector>

#include "gpu/kernel.h"
#include "target/launch_record.h"

namespace fact::differential {

// What lies around a tensor: columns before each of its rows, and rows before each of its matrices;
// as much again is behind all of them.
struct Pad {
    const char* name;
    std::int64_t columns = 0, rows = 0;
};
// Of these the kernel may refuse all but what it says that it takes. 16 columns are a multiple of
// 16 bytes in every type, three of them are in none.
inline constexpr Pad kPads[] = {
    {"16 columns", 16, 0}, {"3 columns", 3, 0}, {"2 rows", 0, 2}, {"16 columns and a row", 16, 1}};

// The dense tensor in a larger one; its data is still to be set.
gpu::TensorArg in_wider(gpu::TensorArg dense, const Pad& pad);
// Bytes of the larger tensor, and of what is before the first own element.
std::size_t wide_bytes(const gpu::TensorArg& arg, const Pad& pad);
std::size_t bytes_before(const gpu::TensorArg& arg, const Pad& pad);

// The memory of the larger tensor: `own` where the tensor's elements are, `poison` elsewhere.
std::string spread(const gpu::TensorArg& arg, const Pad& pad, const std::string& own, char poison);
// Copies the tensor's elements out of the larger tensor's memory; false if others, which held
// `poison`, were written.
bool take_own(const gpu::TensorArg& arg, const Pad& pad, const std::string& memory, char poison,
              std::string& own);

// Whether the launcher takes the kernel's dense `tensors` in larger ones: its outputs, or its
// inputs. Torch allocates memory at multiples of more bytes than any kernel asks for.
bool accepts(const LaunchRecord& record, std::vector<gpu::TensorArg> tensors, const Pad& pad,
             bool outputs);

}  // namespace fact::differential

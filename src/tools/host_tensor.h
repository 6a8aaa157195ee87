// Tensors in memory for the interpreter, random or from .npy files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/interpreter.h"
#include "support/npy.h"
#include "support/result.h"
#include "target/dtype.h"

namespace fact::tools {

struct HostTensor {
    DType dtype = DType::f32;
    std::vector<std::int64_t> sizes;
    std::string data;  // contiguous, the last dimension fastest

    std::int64_t count() const;
    ir::TensorView view();  // valid until the tensor is moved or destroyed
};

HostTensor empty_tensor(DType dtype, std::vector<std::int64_t> sizes);

// The same on every machine for the same seed and name. Floating: normal, rounded to the type;
// integers: four times a normal number, rounded (unsigned: its magnitude); bool: true for half.
HostTensor random_tensor(DType dtype, std::vector<std::int64_t> sizes, std::uint64_t seed,
                         std::string_view name);

struct FromNpy {
    HostTensor tensor;
    bool rounded = false;  // whether some value had to be rounded to the type
};
// Floating arrays can become any floating type, and integer arrays any integer type that can
// represent their values. `name` is the array's name in errors.
Result<FromNpy> tensor_from_npy(NpyArray array, DType dtype, std::string_view name);

// bf16, which NumPy lacks, becomes f32.
NpyArray to_npy(const HostTensor& tensor);

}  // namespace fact::tools

// Recognises a tensor later, and tells whether it has changed, without keeping it alive.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace fact::exec {

struct SeenTensor {
    explicit SeenTensor(const at::Tensor& tensor);

    // Whether it is this tensor, even if its values have changed.
    bool is(const at::Tensor& tensor) const;
    // Whether torch has counted no change since. False for inference tensors, whose changes it does
    // not count.
    bool is_unchanged(const at::Tensor& tensor) const;
    bool is_alive() const { return !storage.expired(); }

    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // another tensor may get the same address
    const void* data;
    std::int64_t version;
    c10::ScalarType dtype;
    std::vector<std::int64_t> sizes, strides;
};

}  // namespace fact::exec

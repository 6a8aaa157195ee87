// A tensor as it was, to be known again without holding it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace fact::exec {

struct SeenTensor {
    explicit SeenTensor(const at::Tensor& tensor);

    // Whether it is this tensor, whatever it holds by now.
    bool is(const at::Tensor& tensor) const;
    // Whether torch has counted no change since. It counts none of inference tensors.
    bool is_unchanged(const at::Tensor& tensor) const;
    bool is_alive() const { return !storage.expired(); }

    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // another tensor may get the address
    const void* data;
    std::int64_t version;
    c10::ScalarType dtype;
    std::vector<std::int64_t> sizes, strides;
};

}  // namespace fact::exec

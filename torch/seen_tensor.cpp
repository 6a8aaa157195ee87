#include "torch/seen_tensor.h"

#include <algorithm>

namespace fact::exec {

SeenTensor::SeenTensor(const at::Tensor& tensor)
    : storage(tensor.storage().getWeakStorageImpl()),
      data(tensor.const_data_ptr()),
      version(tensor.is_inference() ? 0 : tensor._version()),
      dtype(tensor.scalar_type()),
      sizes(tensor.sizes().vec()),
      strides(tensor.strides().vec()) {}

bool SeenTensor::is(const at::Tensor& tensor) const {
    const auto alive = storage.lock();
    return alive && alive.get() == tensor.storage().unsafeGetStorageImpl() &&
           data == tensor.const_data_ptr() && dtype == tensor.scalar_type() &&
           std::ranges::equal(sizes, tensor.sizes()) &&
           std::ranges::equal(strides, tensor.strides());
}

bool SeenTensor::is_unchanged(const at::Tensor& tensor) const {
    return !tensor.is_inference() && version == tensor._version();
}

}  // namespace fact::exec

#include "torch/guarded_buffers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>

#include <algorithm>

#include "support/division.h"
#include "torch/tensors.h"

namespace fact::exec {

using graph::storage_length;

namespace {

std::int64_t margin_on(c10::Device device) {
    return device.is_cpu() ? GuardedTensor::kMarginBytesOnCpu : GuardedTensor::kMarginBytes;
}

// Memory for a tensor with its margins.
at::Tensor memory_for(at::IntArrayRef sizes, at::IntArrayRef strides, c10::ScalarType dtype,
                      c10::Device device) {
    constexpr std::int64_t kAlignment = GuardedTensor::kAlignment;
    const auto length =
        storage_length(sizes, strides) * static_cast<std::int64_t>(c10::elementSize(dtype));
    // The tensor may begin up to kAlignment after its margin to be aligned, and `shift` after that.
    const auto total = 2 * margin_on(device) + 2 * kAlignment + round_up(length, kAlignment);
    return at::empty({total}, at::TensorOptions(at::kByte).device(device));
}

at::Tensor flat_bits(const at::Tensor& tensor) {
    return tensor
        .as_strided({storage_length(tensor.sizes(), tensor.strides())}, {1},
                    tensor.storage_offset())
        .view(bits_type(tensor.scalar_type()));
}

}  // namespace

c10::ScalarType bits_type(c10::ScalarType dtype) {
    switch (c10::elementSize(dtype)) {
        case 1:
            return at::kByte;
        case 2:
            return at::kShort;
        case 4:
            return at::kInt;
        default:
            return at::kLong;
    }
}

std::int64_t GuardedTensor::repeated(std::uint8_t byte, std::int64_t width) {
    std::uint64_t value = 0;
    for (std::int64_t i = 0; i < width; ++i) value = value << 8 | byte;
    const int unused = static_cast<int>(64 - 8 * width);
    // Signed, as torch's integers are; a single byte is torch's unsigned one.
    return width == 1 ? byte : static_cast<std::int64_t>(value << unused) >> unused;
}

GuardedTensor::GuardedTensor(at::IntArrayRef sizes, at::IntArrayRef strides, c10::ScalarType dtype,
                             c10::Device device)
    : GuardedTensor(memory_for(sizes, strides, dtype, device), sizes, strides, dtype, 0) {}

std::vector<GuardedTensor> GuardedTensor::sharing(const std::vector<graph::TensorType>& types,
                                                  std::int64_t length, c10::Device device) {
    const GuardedTensor whole({length}, {1}, scalar_type(types.front().dtype), device);
    std::vector<GuardedTensor> parts;
    for (const auto& type : types) {
        const auto part_of = [&](const at::Tensor& all) {
            return all.as_strided(type.sizes, type.strides, all.storage_offset() + type.offset);
        };
        GuardedTensor& part = parts.emplace_back(whole);
        part.tensor_ = part_of(whole.tensor_);
        part.bits_ = part_of(whole.bits_);
    }
    return parts;
}

GuardedTensor::GuardedTensor(at::Tensor bytes, at::IntArrayRef sizes, at::IntArrayRef strides,
                             c10::ScalarType dtype, std::int64_t shift)
    : bytes_(std::move(bytes)) {
    const std::int64_t elements = storage_length(sizes, strides);
    length_ = elements * static_cast<std::int64_t>(c10::elementSize(dtype));
    bytes_.fill_(kCanary);
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.const_data_ptr());
    const std::int64_t misaligned_by =
        static_cast<std::int64_t>((address + margin_on(bytes_.device())) % kAlignment);
    first_ = margin_on(bytes_.device()) + (misaligned_by == 0 ? 0 : kAlignment - misaligned_by) +
             shift % kAlignment;

    const auto storage = bytes_.narrow(0, first_, length_);
    flat_ = storage.view(bits_type(dtype));
    const auto typed = storage.view(dtype);
    tensor_ = typed.as_strided(sizes, strides, typed.storage_offset());
    bits_ = flat_.as_strided(sizes, strides, flat_.storage_offset());
    if (tensor_.numel() < elements) {
        gaps_ = at::ones({elements}, at::TensorOptions(at::kBool).device(bytes_.device()));
        gaps_.as_strided(sizes, strides).fill_(false);
    }
}

GuardedTensor GuardedTensor::copy_of(const at::Tensor& tensor) {
    GuardedTensor copy(
        memory_for(tensor.sizes(), tensor.strides(), tensor.scalar_type(), tensor.device()),
        tensor.sizes(), tensor.strides(), tensor.scalar_type(),
        tensor.storage_offset() * static_cast<std::int64_t>(tensor.itemsize()));
    copy.gaps_.reset();  // gaps are copied too, and differs_from() compares them
    copy.load(tensor);
    return copy;
}

void GuardedTensor::load(const at::Tensor& tensor) {
    if (length_ > 0) flat_.copy_(flat_bits(tensor));
    // Caches of what was prepared from the tensor must see that it changed, through any view.
    tensor_.unsafeGetTensorImpl()->bump_version();
}

void GuardedTensor::fill(std::uint8_t byte) {
    if (length_ > 0) bits_.fill_(repeated(byte, bits_.itemsize()));
}

at::Tensor GuardedTensor::touched_outside() const {
    const auto end = first_ + length_;
    auto touched = bytes_.narrow(0, 0, first_)
                       .ne(kCanary)
                       .any()
                       .logical_or(bytes_.narrow(0, end, bytes_.size(0) - end).ne(kCanary).any());
    if (gaps_.defined())
        touched = touched.logical_or(
            flat_.ne(repeated(kCanary, flat_.itemsize())).logical_and_(gaps_).any());
    return touched;
}

at::Tensor GuardedTensor::differs_from(const at::Tensor& tensor) const {
    return flat_.ne(flat_bits(tensor)).any();
}

std::vector<bool> read_flags(const std::vector<at::Tensor>& flags) {
    if (flags.empty()) return {};
    const auto all = at::stack(flags).to(at::kCPU, at::kByte).contiguous();
    const auto* values = all.const_data_ptr<std::uint8_t>();
    std::vector<bool> result;
    for (std::size_t i = 0; i < flags.size(); ++i) result.push_back(values[i] != 0);
    return result;
}

}  // namespace fact::exec

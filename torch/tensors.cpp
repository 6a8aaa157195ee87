#include "torch/tensors.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

namespace fact::exec {

namespace {

struct Pair {
    DType ours;
    c10::ScalarType torch;
};
constexpr Pair kPairs[] = {
    {DType::boolean, c10::ScalarType::Bool}, {DType::u8, c10::ScalarType::Byte},
    {DType::i8, c10::ScalarType::Char},      {DType::i16, c10::ScalarType::Short},
    {DType::i32, c10::ScalarType::Int},      {DType::i64, c10::ScalarType::Long},
    {DType::f16, c10::ScalarType::Half},     {DType::bf16, c10::ScalarType::BFloat16},
    {DType::f32, c10::ScalarType::Float},    {DType::f64, c10::ScalarType::Double},
};

}  // namespace

c10::ScalarType scalar_type(DType dtype) {
    for (const auto& pair : kPairs)
        if (pair.ours == dtype) return pair.torch;
    throw InternalError("an element type without a torch counterpart");
}

std::optional<DType> dtype_of(c10::ScalarType type) {
    for (const auto& pair : kPairs)
        if (pair.torch == type) return pair.ours;
    return std::nullopt;
}

std::string sizes_text(const at::Tensor& tensor) {
    std::string text;
    for (const auto& size : tensor.sym_sizes()) {
        const auto number = size.maybe_as_int();
        if (!text.empty()) text += ", ";
        text += number ? fmt::format("{}", *number) : size.toSymNode()->str();
    }
    return text;
}

std::string message_of(const std::exception& error) {
    const auto* torchs = dynamic_cast<const c10::Error*>(&error);
    return torchs ? torchs->what_without_backtrace() : error.what();
}

at::Tensor load_weight(const graph::Weight& weight) {
    const auto options = at::TensorOptions(scalar_type(weight.type.dtype));
    auto tensor = at::empty_strided(weight.type.sizes, weight.type.strides, options);
    if (tensor.numel() == 0) return tensor;
    const std::int64_t length =
        weight.type.offset + graph::storage_length(weight.type.sizes, weight.type.strides);
    const auto bytes = static_cast<std::int64_t>(tensor.element_size());
    TORCH_CHECK(length * bytes <= static_cast<std::int64_t>(weight.storage.size()), "weight ",
                weight.fqn, " is larger than its record in the archive; export the model again");
    // from_blob takes a mutable pointer; the mapping is only read.
    auto* start = const_cast<std::byte*>(weight.storage.data()) + weight.type.offset * bytes;
    tensor.copy_(at::from_blob(start, weight.type.sizes, weight.type.strides, options));
    return tensor;
}

}  // namespace fact::exec

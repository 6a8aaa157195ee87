#include "torch/drawing.h"

#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "torch/tensors.h"

namespace fact::exec {

namespace {

using graph::TensorType;

// The mean of shifted rows, in standard deviations: more than models have, and small enough that
// f32 sums of squares keep the variance.
constexpr double kShift = 32;

// Powers of two between the largest row and the smallest; fewer for f16, whose range is small.
constexpr std::int64_t kUneven = 10, kUnevenF16 = 5;

// The bound of i64 numbers that are drawn: beyond 32 bits, and exact in the interpreter's doubles.
constexpr std::int64_t kWide = std::int64_t{1} << 52;
constexpr std::int64_t kWord = std::int64_t{1} << 32;  // how many values 32 bits can have

// Multiplies each row by a power of two of its own, so that there are small and large rows.
void make_uneven(const at::Tensor& flat, const TensorType& type) {
    for (std::size_t d = 0; d < type.sizes.size(); ++d)  // rows that share memory stay as they are
        if (type.sizes[d] > 1 && type.strides[d] == 0) return;
    auto count = type.sizes;
    count.back() = 1;
    const auto most = type.dtype == DType::f16 ? kUnevenF16 : kUneven;
    flat.as_strided(type.sizes, type.strides, type.offset)
        .mul_(at::randint(most + 1, count, flat.options()).neg_().exp2_());
}

at::Tensor draw_floating(std::int64_t length, const TensorType& type, const InputFacts& facts,
                         std::string_view distribution, c10::Device device) {
    const auto flat = at::randn({length}, at::TensorOptions(at::kFloat).device(device));
    const bool matrix = type.sizes.size() >= 2;
    // A weight's rows have a norm of about one, as after training or initialisation.
    if (facts.constant && matrix)
        flat.mul_(1.0 / std::sqrt(static_cast<double>(type.sizes.back())));
    // Large enough to leave the linear part of activations, small enough for fp16 sums.
    if (distribution == "large" && !facts.constant) flat.mul_(type.dtype == DType::f16 ? 4 : 16);
    if (distribution == kFar && !facts.constant) flat.mul_(facts.far);
    if (distribution == "positive") flat.abs_();
    if (distribution == "uneven" && !facts.constant && matrix) make_uneven(flat, type);
    if (distribution == kShifted && !facts.constant && facts.normalised) flat.add_(kShift);
    return flat;
}

// Any number of the type; of i64, any whose magnitude is at most kWide.
at::Tensor any_integers(std::int64_t length, DType dtype, const at::TensorOptions& options) {
    const std::int64_t half =
        dtype == DType::i64 ? kWide : std::int64_t{1} << (8 * info(dtype).bytes - 1);
    return dtype == DType::u8 ? at::randint(2 * half, {length}, options)
                              : at::randint(-half, half, {length}, options);
}

at::Tensor draw_integers(std::int64_t length, const TensorType& type, const InputFacts& facts,
                         std::string_view distribution, c10::Device device) {
    const auto options = at::TensorOptions(at::kLong).device(device);
    // True for one element in n, at random.
    const auto one_in = [&](std::int64_t n) { return at::randint(n, {length}, options).eq(0); };
    if (type.dtype == DType::boolean) return at::randint(2, {length}, options);
    if (const auto classes = facts.integers.classes; classes && facts.integers.any_value) {
        const auto numbers = at::randint(*classes, {length}, options);
        const auto ignored = facts.integers.ignored;
        return ignored ? at::where(one_in(8), at::full({length}, *ignored, options), numbers)
                       : numbers;
    }
    auto flat = at::randint(4, {length}, options);
    if (!facts.integers.any_value) return flat;
    for (const auto number : facts.integers.compared)
        flat = at::where(one_in(3), at::randint(3, {length}, options).add_(number - 1), flat);
    if (distribution != "large") return flat;
    if (!facts.integers.becomes_floating)
        flat = at::where(one_in(2), any_integers(length, type.dtype, options), flat);
    // Small numbers plus a multiple of 2^33: equal for a kernel that reads only the lower 32 bits.
    const bool in_range = facts.integers.becomes_floating ? !facts.narrow : true;
    if (type.dtype == DType::i64 && in_range)
        flat.add_(at::randint(-1, 2, {length}, options).mul_(2 * kWord));
    return flat;
}

}  // namespace

at::Tensor draw_tensor(const TensorType& type, const InputFacts& facts,
                       std::string_view distribution, c10::Device device) {
    // The whole storage is drawn and then viewed: strides may be any, even overlapping.
    const std::int64_t length = type.offset + graph::storage_length(type.sizes, type.strides);
    const auto draw = info(type.dtype).floating ? draw_floating : draw_integers;
    const auto flat = draw(length, type, facts, distribution, device).to(scalar_type(type.dtype));
    if (distribution == "zero_tail") flat.narrow(0, length - length / 4, length / 4).zero_();
    return flat.as_strided(type.sizes, type.strides, type.offset);
}

at::Tensor other_values(const at::Tensor& buffer) {
    const auto chance = [&] {
        return at::rand(buffer.sizes(), at::TensorOptions(at::kFloat).device(buffer.device()));
    };
    if (buffer.scalar_type() == at::kBool) return buffer.logical_xor(chance().lt(0.25));
    if (!buffer.is_floating_point()) return buffer;  // indices and lengths: others may be invalid
    const auto grown = buffer.mul(chance().mul_(0.25).add_(1)), added = chance().mul_(0.25);
    return at::where(buffer.lt(0), grown, grown.add(added)).to(buffer.scalar_type());
}

}  // namespace fact::exec

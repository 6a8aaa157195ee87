#include "tools/host_tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "ir/number.h"
#include "support/result.h"

namespace fact::tools {
namespace {

DType dtype_of(NpyType type) {
    switch (type) {
        case NpyType::b1:
            return DType::boolean;
        case NpyType::i1:
            return DType::i8;
        case NpyType::i2:
            return DType::i16;
        case NpyType::i4:
            return DType::i32;
        case NpyType::i8:
            return DType::i64;
        case NpyType::u1:
            return DType::u8;
        case NpyType::f2:
            return DType::f16;
        case NpyType::f4:
            return DType::f32;
        case NpyType::f8:
            return DType::f64;
    }
    throw InternalError("a NumPy type that is no element type");
}

NpyType npy_type(DType dtype) {
    switch (dtype) {
        case DType::boolean:
            return NpyType::b1;
        case DType::u8:
            return NpyType::u1;
        case DType::i8:
            return NpyType::i1;
        case DType::i16:
            return NpyType::i2;
        case DType::i32:
            return NpyType::i4;
        case DType::i64:
            return NpyType::i8;
        case DType::f16:
            return NpyType::f2;
        case DType::bf16:  // NumPy has no bf16
        case DType::f32:
            return NpyType::f4;
        case DType::f64:
            return NpyType::f8;
    }
    throw InternalError("an element type that NumPy does not hold");
}

// SplitMix64: small, and the same everywhere, unlike the distributions of the standard library.
class Random {
  public:
    Random(std::uint64_t seed, std::string_view name) : state_(seed) {
        for (const char c : name) state_ = next() ^ static_cast<unsigned char>(c);
    }

    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

  private:
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    std::uint64_t state_;
};

double sample(DType dtype, double normal) {
    if (dtype == DType::boolean) return normal > 0;
    if (info(dtype).floating) return normal;
    return std::nearbyint(dtype == DType::u8 ? std::abs(4 * normal) : 4 * normal);
}

std::size_t size_of(DType dtype) {
    return static_cast<std::size_t>(info(dtype).bytes);
}

}  // namespace

std::int64_t HostTensor::count() const {
    return static_cast<std::int64_t>(data.size() / size_of(dtype));
}

ir::TensorView HostTensor::view() {
    ir::TensorView view{data.data(), dtype, sizes, std::vector<std::int64_t>(sizes.size())};
    std::int64_t stride = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
        view.strides[i] = stride;
        stride *= sizes[i];
    }
    return view;
}

HostTensor empty_tensor(DType dtype, std::vector<std::int64_t> sizes) {
    std::size_t bytes = size_of(dtype);
    for (const std::int64_t size : sizes) bytes *= static_cast<std::size_t>(size);
    return {dtype, std::move(sizes), std::string(bytes, '\0')};
}

HostTensor random_tensor(DType dtype, std::vector<std::int64_t> sizes, std::uint64_t seed,
                         std::string_view name) {
    HostTensor tensor = empty_tensor(dtype, std::move(sizes));
    Random random(seed, name);
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
        const double value = sample(dtype, random.normal());
        ir::store(tensor.data.data(), dtype, i, 1, 1, &value);
    }
    return tensor;
}

Result<FromNpy> tensor_from_npy(NpyArray array, DType dtype, std::string_view name) {
    const DType given = dtype_of(array.type);
    const auto refuse = [&](std::string_view why) {
        return blame_input({fmt::format("{} holds {}, which cannot become {}: {}", name,
                                        info(array.type).numpy, info(dtype).name, why),
                            fmt::format("save it as {}", info(npy_type(dtype)).numpy)});
    };
    if (given == dtype) return FromNpy{{dtype, std::move(array.shape), std::move(array.data)}};
    if (given == DType::boolean || dtype == DType::boolean)
        return refuse("bool cannot be converted");
    if (info(given).floating != info(dtype).floating)
        return refuse("one is an integer, the other is not");
    FromNpy from{empty_tensor(dtype, std::move(array.shape))};
    for (std::int64_t i = 0; i < from.tensor.count(); ++i) {
        double value = 0, kept = 0;
        ir::load(array.data.data(), given, i, 1, 1, &value);
        ir::store(from.tensor.data.data(), dtype, i, 1, 1, &value);
        ir::load(from.tensor.data.data(), dtype, i, 1, 1, &kept);
        const bool same = kept == value || (std::isnan(kept) && std::isnan(value));
        if (!same && !info(dtype).floating)
            return refuse(fmt::format("{} is out of its range", value));
        from.rounded |= !same;
    }
    return from;
}

NpyArray to_npy(const HostTensor& tensor) {
    if (tensor.dtype != DType::bf16) return {npy_type(tensor.dtype), tensor.sizes, tensor.data};
    HostTensor wider = empty_tensor(DType::f32, tensor.sizes);
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
        double value = 0;
        ir::load(tensor.data.data(), tensor.dtype, i, 1, 1, &value);
        ir::store(wider.data.data(), wider.dtype, i, 1, 1, &value);
    }
    return {NpyType::f4, std::move(wider.sizes), std::move(wider.data)};
}

}  // namespace fact::tools

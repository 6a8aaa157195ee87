#include "calibrate/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/number.h"

namespace fact::calibrate {

namespace {

double number(std::string_view bytes, std::size_t index, DType dtype) {
    if (dtype == DType::f32) {
        float value = 0;
        std::memcpy(&value, bytes.data() + 4 * index, 4);
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * index, 2);
    return dtype == DType::bf16 ? ir::f32_from_bf16(bits) : ir::f32_from_f16(bits);
}

}  // namespace

std::string counted_up(std::size_t bytes) {
    std::string content(bytes, '\0');
    for (std::size_t word = 0; word < bytes / 4; ++word) {
        const auto value = static_cast<std::uint32_t>(word / 4);
        std::memcpy(content.data() + 4 * word, &value, 4);
    }
    return content;
}

std::string wrong_products(std::string_view x, std::string_view w, std::string_view y,
                           DType dtype) {
    const auto size = static_cast<std::size_t>(info(dtype).bytes);
    const std::size_t terms = x.size() / size;
    for (std::size_t column = 0; column < y.size() / size; ++column) {
        double sum = 0, squares = 0;
        for (std::size_t k = 0; k < terms; ++k) {
            const double term = number(x, k, dtype) * number(w, column * terms + k, dtype);
            sum += term;
            squares += term * term;
        }
        // The coarsest types have eight bits; a missing or doubled tile exceeds this by far.
        const double allowed = 0.01 * std::max(std::abs(sum), std::sqrt(squares));
        const double got = number(y, column, dtype);
        if (!(std::abs(got - sum) <= allowed))
            return fmt::format("column {} is {:.6g} instead of {:.6g}", column, got, sum);
    }
    return "";
}

}  // namespace fact::calibrate

#include "wide.h"

#include <algorithm>

namespace fact::differential {

namespace {

constexpr std::int64_t kBefore = 16;  // columns: a multiple of 16 bytes in every type

std::size_t row_bytes(const gpu::TensorArg& arg) {
    const auto columns = arg.sizes.empty() ? 1 : arg.sizes.back();
    return static_cast<std::size_t>(columns * info(arg.dtype).bytes);
}

std::size_t num_rows(const gpu::TensorArg& arg) {
    std::size_t rows = 1;
    for (std::size_t d = 0; d + 1 < arg.sizes.size(); ++d)
        rows *= static_cast<std::size_t>(arg.sizes[d]);
    return rows;
}

}  // namespace

gpu::TensorArg in_wider(gpu::TensorArg dense) {
    if (dense.sizes.empty()) return dense;
    std::int64_t stride = dense.sizes.back() + kBefore;
    for (std::size_t d = dense.sizes.size() - 1; d-- > 0; stride *= dense.sizes[d])
        dense.strides[d] = stride;
    return dense;
}

std::size_t bytes_before(const gpu::TensorArg& arg) {
    return static_cast<std::size_t>(kBefore * info(arg.dtype).bytes);
}

std::size_t wide_bytes(const gpu::TensorArg& arg) {
    return num_rows(arg) * (bytes_before(arg) + row_bytes(arg));
}

bool take_columns(const gpu::TensorArg& arg, const std::string& memory, char poison,
                  std::string& own) {
    own.clear();
    bool untouched = true;
    const std::size_t before = bytes_before(arg), row = row_bytes(arg);
    for (std::size_t at = 0; at < memory.size(); at += before + row) {
        const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(at);
        untouched = untouched && std::all_of(begin, begin + static_cast<std::ptrdiff_t>(before),
                                             [&](char c) { return c == poison; });
        own.append(memory, at + before, row);
    }
    return untouched;
}

}  // namespace fact::differential

#include "graph/strides.h"

#include <numeric>
#include <utility>

namespace fact::graph {

namespace {

using Ints = std::vector<std::int64_t>;

// The strides of a view, if the elements of every new dimension lie at one distance.
std::optional<Ints> view_strides(const TensorType& type, const Ints& sizes) {
    Ints strides(sizes.size(), 1);
    // From the last dimension on: runs of old dimensions that lie like one, cut into new ones.
    std::size_t next = sizes.size();
    std::int64_t numel = 1, viewed = 1;
    for (std::size_t i = type.sizes.size(), last = i; i-- > 0;) {
        if (i + 1 == last) numel = viewed = 1;
        numel *= type.sizes[i];
        const bool run_goes_on = i > 0 && (type.sizes[i - 1] == 1 ||
                                           type.strides[i - 1] == numel * type.strides[last - 1]);
        if (run_goes_on) continue;
        while (next > 0 && (viewed < numel || sizes[next - 1] == 1)) {
            --next;
            strides[next] = viewed * type.strides[last - 1];
            viewed *= sizes[next];
        }
        if (viewed != numel) return std::nullopt;
        last = i;
    }
    return next == 0 ? std::optional(strides) : std::nullopt;
}

// An operand's strides along the result's dimensions; 0 where it is broadcast.
Ints aligned_strides(const Ints& sizes, const TensorType& operand) {
    Ints strides(sizes.size(), 0);
    const std::size_t missing = sizes.size() - operand.sizes.size();
    for (std::size_t i = 0; i < operand.sizes.size(); ++i)
        if (operand.sizes[i] != 1 || sizes[missing + i] == 1)
            strides[missing + i] = operand.strides[i];
    return strides;
}

// Whether torch lets dimension `a` vary faster than `b` (1), or slower (-1); 0 if the operands do
// not tell.
int faster(const Ints& sizes, const std::vector<Ints>& operands, std::size_t a, std::size_t b) {
    for (const Ints& strides : operands) {
        if (strides[a] == 0 || strides[b] == 0) continue;
        if (strides[a] != strides[b]) return strides[a] < strides[b] ? 1 : -1;
        if (sizes[a] > sizes[b]) return -1;
    }
    return 0;
}

}  // namespace

Ints dense_strides(std::span<const std::int64_t> sizes) {
    Ints strides(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    return strides;
}

TensorType permuted(const TensorType& type, std::span<const std::int64_t> dims) {
    TensorType result = type;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        result.sizes[i] = type.sizes[static_cast<std::size_t>(dims[i])];
        result.strides[i] = type.strides[static_cast<std::size_t>(dims[i])];
    }
    return result;
}

TensorType reshaped(const TensorType& type, Ints sizes) {
    TensorType result = type;
    const auto strides = view_strides(type, sizes);
    if (!strides) result.offset = 0;
    result.strides = strides ? *strides : dense_strides(sizes);
    result.sizes = std::move(sizes);
    return result;
}

TensorType broadcast_result(Ints sizes, std::span<const TensorType> operands) {
    std::vector<Ints> strides;
    for (const TensorType& operand : operands) strides.push_back(aligned_strides(sizes, operand));
    std::vector<std::size_t> order(sizes.size());  // the fastest dimension first
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    // An insertion sort in which operands may leave the order of two dimensions open.
    for (std::size_t i = 1; i < order.size(); ++i)
        for (std::size_t at = i, j = i; j-- > 0;) {
            const int first = faster(sizes, strides, order[j], order[at]);
            if (first > 0) break;
            if (first < 0) std::swap(order[j], order[at]), at = j;
        }
    TensorType result = operands.front();
    result.offset = 0;
    result.strides.assign(sizes.size(), 1);
    std::int64_t step = 1;
    for (const std::size_t dim : order) {
        result.strides[dim] = step;
        step *= sizes[dim];
    }
    result.sizes = std::move(sizes);
    return result;
}

}  // namespace fact::graph

#include "match/known/indexing.h"

#include <algorithm>
#include <cmath>

#include "graph/arguments.h"
#include "match/known/tensor.h"

namespace fact::match {

using graph::Node;
using graph::TensorType;
using Sizes = std::vector<std::int64_t>;

namespace {

constexpr double kMaxExact = 9007199254740992.0;  // 2^53: doubles represent all integers below

bool has_integers(const TensorType& type) {
    return type.dtype == DType::i64 || type.dtype == DType::i32;
}

// The dimension an operator works along, counted from the front.
std::optional<std::size_t> dimension(const Node& node, std::int64_t fallback, std::size_t rank) {
    auto dim = graph::int_argument(node, "dim").value_or(fallback);
    if (dim < 0) dim += static_cast<std::int64_t>(rank);
    if (dim < 0 || dim >= static_cast<std::int64_t>(rank)) return std::nullopt;
    return static_cast<std::size_t>(dim);
}

}  // namespace

std::optional<KnownTensor> known_cumsum(const Node& node, const TensorType& type,
                                        const KnownTensor& source) {
    const auto dim = dimension(node, 0, source.sizes.size());
    if (!dim || !has_integers(type) || type.sizes != source.sizes) return std::nullopt;
    bool exact = true;
    const auto sum = [&](const Sizes& place, std::span<const double> before) {
        double value = source.at(place);
        exact = exact && value == std::trunc(value);  // torch would round each element first
        if (place[*dim] > 0) {
            std::size_t back = 1;  // how many elements before is the neighbour along `dim`
            for (std::size_t d = *dim + 1; d < source.sizes.size(); ++d)
                back *= static_cast<std::size_t>(source.sizes[d]);
            value += before[before.size() - back];
        }
        exact = exact && std::abs(value) < (type.dtype == DType::i32 ? 2147483648.0 : kMaxExact);
        return value;
    };
    auto result = generate_elements(type.sizes, sum);
    return exact ? result : std::nullopt;
}

std::optional<KnownTensor> known_diff(const Node& node, const TensorType& type,
                                      const KnownTensor& source,
                                      const std::optional<KnownTensor>& prepend) {
    const auto dim = dimension(node, -1, source.sizes.size());
    if (!dim || !has_integers(type) || graph::int_argument(node, "n").value_or(1) != 1)
        return std::nullopt;
    if (prepend && prepend->sizes.size() != source.sizes.size()) return std::nullopt;
    const std::int64_t num_prepended = prepend ? prepend->sizes[*dim] : 0;
    Sizes expected = source.sizes;
    expected[*dim] += num_prepended - 1;
    if (expected != type.sizes) return std::nullopt;
    const auto joined = [&](Sizes place) {
        if (place[*dim] < num_prepended) return prepend->at(place);
        place[*dim] -= num_prepended;
        return source.at(place);
    };
    return generate_elements(type.sizes, [&](const Sizes& place, std::span<const double>) {
        Sizes next = place;
        ++next[*dim];
        return joined(std::move(next)) - joined(place);
    });
}

std::optional<KnownTensor> known_index(const TensorType& type, const KnownTensor& source,
                                       const std::vector<KnownTensor>& indices) {
    if (indices.empty() || indices.size() > source.sizes.size()) return std::nullopt;
    std::size_t rank = 0;  // of the indices, broadcast
    for (const KnownTensor& index : indices) rank = std::max(rank, index.sizes.size());
    const std::size_t num_kept = source.sizes.size() - indices.size();  // dimensions without index
    if (type.sizes.size() != rank + num_kept) return std::nullopt;
    bool inside = true;
    const auto read = [&](const Sizes& place, std::span<const double>) {
        Sizes from;
        for (std::size_t i = 0; i < indices.size(); ++i) {
            const KnownTensor& index = indices[i];
            Sizes at;
            for (std::size_t d = 0; d < index.sizes.size(); ++d)
                at.push_back(index.sizes[d] == 1 ? 0 : place[rank - index.sizes.size() + d]);
            auto value = static_cast<std::int64_t>(index.at(at));
            if (value < 0) value += source.sizes[i];
            if (value < 0 || value >= source.sizes[i]) return inside = false, 0.0;
            from.push_back(value);
        }
        from.insert(from.end(), place.begin() + static_cast<std::ptrdiff_t>(rank), place.end());
        return source.at(from);
    };
    auto result = generate_elements(type.sizes, read);
    return inside ? result : std::nullopt;
}

}  // namespace fact::match

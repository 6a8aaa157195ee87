#include "match/known/tensor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/arguments.h"
#include "graph/operators.h"
#include "ir/number.h"
#include "support/division.h"

namespace fact::match {

using graph::Node;
using Sizes = std::vector<std::int64_t>;

namespace {

std::int64_t count(const Sizes& sizes) {
    std::int64_t product = 1;
    for (const auto size : sizes) product *= size;
    return product;
}

// Calls `visit` with every coordinate, the last dimension fastest.
void for_each_place(const Sizes& sizes, const std::function<void(const Sizes&)>& visit) {
    Sizes place(sizes.size(), 0);
    for (std::int64_t left = count(sizes); left > 0; --left) {
        visit(place);
        for (std::size_t d = sizes.size(); d-- > 0;) {
            if (++place[d] < sizes[d]) break;
            place[d] = 0;
        }
    }
}

// The tensor broadcast to `sizes`; nullopt if it does not broadcast.
std::optional<KnownTensor> expanded(const KnownTensor& tensor, const Sizes& sizes) {
    if (tensor.sizes.size() > sizes.size()) return std::nullopt;
    KnownTensor wide = tensor;
    const std::size_t shift = sizes.size() - tensor.sizes.size();
    wide.sizes = sizes;
    wide.strides.assign(sizes.size(), 0);
    for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
        if (tensor.sizes[d] == sizes[d + shift])
            wide.strides[d + shift] = tensor.strides[d];
        else if (tensor.sizes[d] != 1)
            return std::nullopt;
    }
    return wide;
}

Sizes without_ones(Sizes sizes) {
    std::erase(sizes, 1);
    return sizes;
}

// A tensor with these elements in memory order.
KnownTensor packed(const Sizes& sizes, std::shared_ptr<const std::vector<double>> elements) {
    KnownTensor result{sizes, Sizes(sizes.size(), 1), 0, std::move(elements)};
    for (std::size_t d = sizes.size(); d-- > 1;)
        result.strides[d - 1] = result.strides[d] * sizes[d];
    return result;
}

// Copies the elements in memory order, unless only dimensions of one element are added or removed:
// then strides, including zeros, are kept.
std::optional<KnownTensor> reshaped(const KnownTensor& tensor, const Sizes& sizes) {
    if (count(tensor.sizes) != count(sizes)) return std::nullopt;
    if (const auto number = tensor.number()) return filled(sizes, *number);
    if (without_ones(tensor.sizes) == without_ones(sizes)) {
        KnownTensor result{sizes, Sizes(sizes.size(), 0), tensor.offset, tensor.elements};
        std::size_t from = 0;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            if (sizes[d] == 1) continue;
            while (tensor.sizes[from] == 1) ++from;
            result.strides[d] = tensor.strides[from++];
        }
        return result;
    }
    if (count(sizes) > kMaxKnown) return std::nullopt;
    auto elements = std::make_shared<std::vector<double>>();
    elements->reserve(static_cast<std::size_t>(count(sizes)));
    for_each_place(tensor.sizes,
                   [&](const Sizes& place) { elements->push_back(tensor.at(place)); });
    return packed(sizes, std::move(elements));
}

// Whether elements do not change along this dimension.
bool repeats(const KnownTensor& tensor, std::size_t dim) {
    bool same = true;
    for_each_place(tensor.sizes, [&](const Sizes& place) {
        Sizes first = place;
        first[dim] = 0;
        same = same && tensor.at(place) == tensor.at(first);
    });
    return same;
}

}  // namespace

double KnownTensor::at(std::span<const std::int64_t> where) const {
    std::int64_t index = offset;
    for (std::size_t d = 0; d < where.size(); ++d) index += where[d] * strides[d];
    return (*elements)[static_cast<std::size_t>(index)];
}

std::optional<double> KnownTensor::number() const {
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (sizes[d] == 0 || (sizes[d] != 1 && strides[d] != 0)) return std::nullopt;
    return (*elements)[static_cast<std::size_t>(offset)];
}

KnownTensor filled(const Sizes& sizes, double value) {
    return {sizes, Sizes(sizes.size(), 0), 0,
            std::make_shared<const std::vector<double>>(std::vector{value})};
}

std::optional<KnownTensor> map_elements(
    const Sizes& sizes, DType dtype, const std::vector<KnownTensor>& operands,
    const std::function<double(std::span<const double>)>& operation) {
    std::vector<KnownTensor> wide;
    for (const KnownTensor& operand : operands) {
        auto broadcast = expanded(operand, sizes);
        if (!broadcast) return std::nullopt;
        wide.push_back(std::move(*broadcast));
    }
    Sizes varied(sizes.size(), 1);  // `sizes`, but 1 where no operand varies
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (std::ranges::any_of(wide, [&](const KnownTensor& x) { return x.strides[d] != 0; }))
            varied[d] = sizes[d];
    if (count(sizes) == 0 || count(varied) > kMaxKnown) return std::nullopt;
    auto elements = std::make_shared<std::vector<double>>();
    elements->reserve(static_cast<std::size_t>(count(varied)));
    std::vector<double> values(wide.size());
    const bool integer = dtype != DType::boolean && !info(dtype).floating;
    bool wraps = false;
    for_each_place(varied, [&](const Sizes& place) {
        for (std::size_t i = 0; i < wide.size(); ++i) values[i] = wide[i].at(place);
        const double exact = operation(values), rounded = ir::round_to(exact, dtype);
        // Torch's integers wrap around, which is not reproduced here.
        wraps = wraps || (integer && std::abs(rounded - exact) >= 1);
        elements->push_back(rounded);
    });
    if (wraps) return std::nullopt;
    KnownTensor result{sizes, Sizes(sizes.size(), 0), 0, std::move(elements)};
    std::int64_t stride = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
        if (varied[d] != 1) result.strides[d] = stride;
        stride *= varied[d];
    }
    return result;
}

std::optional<KnownTensor> generate_elements(
    const Sizes& sizes,
    const std::function<double(const Sizes&, std::span<const double>)>& element) {
    if (count(sizes) == 0 || count(sizes) > kMaxKnown) return std::nullopt;
    auto elements = std::make_shared<std::vector<double>>();
    elements->reserve(static_cast<std::size_t>(count(sizes)));
    for_each_place(sizes,
                   [&](const Sizes& place) { elements->push_back(element(place, *elements)); });
    KnownTensor result = packed(sizes, std::move(elements));
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (repeats(result, d)) result.strides[d] = 0;
    return result;
}

std::optional<KnownTensor> known_view(const Node& node, const Sizes& sizes, KnownTensor source) {
    const auto dim = graph::int_argument(node, "dim").value_or(0);
    const bool inside = dim >= 0 && dim < static_cast<std::int64_t>(source.sizes.size());
    const auto at = static_cast<std::size_t>(inside ? dim : 0);
    const auto motion = graph::facts_of(node).motion;
    if (motion == graph::Motion::same) return source;
    if (motion == graph::Motion::reshape) return reshaped(source, sizes);
    if (motion == graph::Motion::expand) return expanded(source, sizes);
    if (node.target == "aten.permute.default") {
        const auto order = graph::ints_argument(node, "dims");
        if (order.size() != source.sizes.size()) return std::nullopt;
        KnownTensor result = source;
        for (std::size_t d = 0; d < order.size(); ++d) {
            const auto from = static_cast<std::size_t>(order[d]);
            if (from >= order.size()) return std::nullopt;
            result.sizes[d] = source.sizes[from];
            result.strides[d] = source.strides[from];
        }
        return result;
    }
    if (!inside) return std::nullopt;
    if (node.target == "aten.slice.Tensor") {
        // Canonical slices have explicit bounds inside the tensor.
        const auto start = graph::int_argument(node, "start"),
                   end = graph::int_argument(node, "end"), step = graph::int_argument(node, "step");
        if (!start || !end || !step || *start < 0 || *end > source.sizes[at] || *step < 1)
            return std::nullopt;
        source.offset += *start * source.strides[at];
        source.strides[at] *= *step;
        source.sizes[at] = ceil_div(*end - *start, *step);
        return source;
    }
    if (node.target == "aten.select.int") {
        const auto index = graph::int_argument(node, "index");
        if (!index || *index < 0 || *index >= source.sizes[at]) return std::nullopt;
        source.offset += *index * source.strides[at];
        source.sizes.erase(source.sizes.begin() + dim);
        source.strides.erase(source.strides.begin() + dim);
        return source;
    }
    return std::nullopt;
}

}  // namespace fact::match

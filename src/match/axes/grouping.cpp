#include "match/axes/grouping.h"

#include <algorithm>

namespace fact::match {

bool holds(const Group& group, Axis axis) {
    return std::ranges::find(group, axis) != group.end();
}

Grouping::Grouping(const graph::Graph& graph, const Space& space, Axis k,
                   std::vector<PlacedTensor> tensors)
    : graph_(graph), space_(space), k_(k), tensors_(std::move(tensors)) {
    keep_axes();
    for (const auto& tensor : tensors_) dims_.push_back(tensor_dims(tensor));
}

void Grouping::swap_operands() {
    std::swap(tensors_[0], tensors_[1]);
    std::swap(dims_[0], dims_[1]);
}

bool Grouping::in_operand(std::size_t operand, Axis axis) const {
    return std::ranges::any_of(tensors_[operand].shape,
                               [&](const Group& axes) { return holds(axes, axis); });
}

Role Grouping::role(Axis axis) const {
    if (axis == k_) return Role::k;
    const bool a = in_operand(0, axis), b = in_operand(1, axis);
    if (a && b) return Role::batch;
    return a ? Role::m : b ? Role::n : Role::other;
}

// Drops axes of extent one, except that rows, columns and the summed dimension keep at least one
// axis each.
void Grouping::keep_axes() {
    Group units;
    bool wide[5] = {};  // by Role: whether an axis has more than one element
    const auto collect = [&](const Shape& shape) {
        for (const auto& axes : shape)
            for (const Axis axis : axes) {
                Group& list = space_.extent(axis) > 1 ? kept_ : units;
                if (space_.extent(axis) > 1) wide[static_cast<int>(role(axis))] = true;
                if (!holds(list, axis)) list.push_back(axis);
            }
    };
    collect(tensors_[kFirstResult].shape);
    for (const auto& tensor : tensors_) collect(tensor.shape);
    // Windows of windows: the places of the first are in no tensor.
    for (const auto& [node, windows] : space_.windows())
        for (const AxisWindow& window : windows.windows) collect({{window.places}});
    for (const Role wanted : {Role::m, Role::n, Role::k}) {
        if (wide[static_cast<int>(wanted)]) continue;
        for (auto axis = units.rbegin(); axis != units.rend(); ++axis)
            if (role(*axis) == wanted) {
                kept_.push_back(*axis);
                break;
            }
    }
}

std::vector<TensorDim> Grouping::tensor_dims(const PlacedTensor& tensor) const {
    const auto& type = *graph_[tensor.value].type;
    std::vector<TensorDim> dims;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        TensorDim dim{static_cast<int>(i), type.sizes[i], type.strides[i], {}};
        if (tensor.half && tensor.half->dim == dim.at) {
            dim.extent /= 2;
            if (tensor.half->stepped) dim.stride *= 2;
        }
        for (const Axis axis : tensor.shape[i])
            if (holds(kept_, axis)) dim.axes.push_back(axis);
        if (!dim.axes.empty()) dims.push_back(std::move(dim));
    }
    return dims;
}

Axis Grouping::innermost(std::size_t tensor) const {
    const auto& dims = dims_[tensor];
    const TensorDim* best = nullptr;
    for (const auto& dim : dims)
        if (!best || (dim.extent > 1 && (best->extent == 1 || dim.stride <= best->stride)))
            best = &dim;
    return best ? best->axes.back() : kNoAxis;
}

std::string Grouping::merge() {
    for (const Axis axis : kept_) groups_.push_back({axis});
    for (const auto& dims : dims_)
        for (const auto& dim : dims)
            for (std::size_t i = 1; i < dim.axes.size(); ++i)
                if (!join(dim.axes[i - 1], dim.axes[i]))
                    return "a view mixes dimensions the kernel must keep apart";
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < groups_.size() && !changed; ++i)
            for (std::size_t j = 0; j < groups_.size() && !changed; ++j)
                if (i != j && can_merge(groups_[i], groups_[j]) &&
                    !are_separate(groups_[i], groups_[j])) {
                    append(groups_[i], groups_[j]);
                    changed = true;
                }
    }
    return "";
}

// Without a product, rows need not be one dimension with what a reduction along them reads.
bool Grouping::are_separate(const Group& outer, const Group& inner) const {
    if (k_ != kNoAxis) return false;
    for (const auto& [node, groups] : space_.groups())
        for (const Group& axes : groups)
            if (holds(axes, outer.back()) != holds(axes, inner.front())) return true;
    return false;
}

bool Grouping::join(Axis outer, Axis inner) {
    const auto first = std::ranges::find_if(groups_, [&](auto& g) { return holds(g, outer); });
    const auto second = std::ranges::find_if(groups_, [&](auto& g) { return holds(g, inner); });
    if (first == second) {
        const auto at = std::ranges::find(*first, outer);
        return at + 1 != first->end() && *(at + 1) == inner;
    }
    if (role(outer) != role(inner) || first->back() != outer || second->front() != inner)
        return false;
    append(*first, *second);
    return true;
}

void Grouping::append(Group& first, Group& second) {
    const Group moved = std::move(second);
    second.clear();
    first.insert(first.end(), moved.begin(), moved.end());
    std::erase(groups_, Group{});
}

std::optional<std::vector<TensorDim>> Grouping::dims_of(std::size_t tensor,
                                                        const Group& group) const {
    const auto& dims = dims_[tensor];
    std::vector<TensorDim> found;
    std::size_t covered = 0;
    while (covered < group.size()) {
        const auto dim = std::ranges::find_if(
            dims, [&](const TensorDim& d) { return d.axes.front() == group[covered]; });
        if (dim == dims.end()) break;
        if (covered + dim->axes.size() > group.size()) return std::nullopt;
        if (!std::equal(dim->axes.begin(), dim->axes.end(), group.begin() + covered))
            return std::nullopt;
        if (!found.empty() && found.back().stride != dim->stride * dim->extent) return std::nullopt;
        covered += dim->axes.size();
        found.push_back(*dim);
    }
    const bool has_some = std::ranges::any_of(dims, [&](const TensorDim& d) {
        return std::ranges::any_of(d.axes, [&](Axis axis) { return holds(group, axis); });
    });
    if (covered != group.size() && (has_some || covered > 0)) return std::nullopt;
    return found;
}

bool Grouping::can_merge(const Group& outer, const Group& inner) const {
    if (space_.is_windowed(outer.back()) || space_.is_windowed(inner.front())) return false;
    if (role(outer.front()) != role(inner.front())) return false;
    Group both = outer;
    both.insert(both.end(), inner.begin(), inner.end());
    for (std::size_t i = 0; i < tensors_.size(); ++i)
        if (!dims_of(i, both)) return false;
    return true;
}

std::int64_t Grouping::extent(const Group& group) const {
    std::int64_t product = 1;
    for (const Axis axis : group) product *= space_.extent(axis);
    return product;
}

}  // namespace fact::match

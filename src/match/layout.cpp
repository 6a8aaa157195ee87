#include "match/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace fact::match {
namespace {

using Group = std::vector<Axis>;

enum class Role { batch, m, n, k, none };

// One dimension of a tensor that the kernel sees.
struct Dim {
    int at = 0;  // in the graph's tensor
    std::int64_t extent = 1, stride = 0;
    Group axes;
};

bool holds(const Group& group, Axis axis) {
    return std::ranges::find(group, axis) != group.end();
}

class Planner {
  public:
    Planner(const graph::Graph& graph, const Space& space, Axis k)
        : graph_(graph), space_(space), k_(k) {}

    // Tensors: a, b, result, then the side operands.
    Result<Layout> plan(std::vector<Placed> tensors) {
        tensors_ = std::move(tensors);
        Layout layout;
        keep_axes();
        for (const auto& tensor : tensors_) dims_.push_back(visible_dims(tensor));
        if (role(innermost(dims_[2])) == Role::m) {
            std::swap(tensors_[0], tensors_[1]);
            std::swap(dims_[0], dims_[1]);
            layout.swapped = true;
        }
        if (std::string reason = group_axes(); !reason.empty()) return Error{reason, ""};
        merge_groups();
        if (std::string reason = name_dims(layout); !reason.empty()) return Error{reason, ""};
        std::vector<Laid> laid;
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            auto one = lay(i, layout);
            if (!one) return one.error();
            laid.push_back(*one);
        }
        layout.a = laid[0];
        layout.b = laid[1];
        layout.result = laid[2];
        layout.sides.assign(laid.begin() + 3, laid.end());
        return layout;
    }

  private:
    const std::string& name(std::size_t tensor) const {
        return graph_[tensors_[tensor].value].name;
    }

    bool in_operand(std::size_t operand, Axis axis) const {
        return std::ranges::any_of(tensors_[operand].shape,
                                   [&](const Group& axes) { return holds(axes, axis); });
    }

    Role role(Axis axis) const {
        if (axis == k_) return Role::k;
        const bool a = in_operand(0, axis), b = in_operand(1, axis);
        if (a && b) return Role::batch;
        return a ? Role::m : b ? Role::n : Role::none;
    }

    // Axes of extent one are dropped, but rows, columns and the sum keep at least one axis each.
    void keep_axes() {
        Group units;
        bool wide[5] = {};
        const auto sort = [&](const Shape& shape) {
            for (const auto& axes : shape)
                for (const Axis axis : axes) {
                    if (space_.extent(axis) > 1)
                        wide[static_cast<int>(role(axis))] = true, kept_.push_back(axis);
                    else
                        units.push_back(axis);
                }
        };
        sort(tensors_[2].shape);
        sort({{k_}});
        for (const Role wanted : {Role::m, Role::n, Role::k}) {
            if (wide[static_cast<int>(wanted)]) continue;
            for (auto axis = units.rbegin(); axis != units.rend(); ++axis)
                if (role(*axis) == wanted) {
                    kept_.push_back(*axis);
                    break;
                }
        }
    }

    std::vector<Dim> visible_dims(const Placed& tensor) const {
        const auto& type = *graph_[tensor.value].type;
        std::vector<Dim> dims;
        for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
            Dim dim{static_cast<int>(i), type.sizes[i], type.strides[i], {}};
            for (const Axis axis : tensor.shape[i])
                if (holds(kept_, axis)) dim.axes.push_back(axis);
            if (!dim.axes.empty()) dims.push_back(std::move(dim));
        }
        return dims;
    }

    // The axis that varies fastest in memory.
    Axis innermost(const std::vector<Dim>& dims) const {
        const Dim* best = nullptr;
        for (const auto& dim : dims)
            if (!best || (dim.extent > 1 && (best->extent == 1 || dim.stride <= best->stride)))
                best = &dim;
        return best ? best->axes.back() : -1;
    }

    // Axes that share a dimension of some tensor must share one in the kernel.
    std::string group_axes() {
        for (const Axis axis : kept_) {
            if (role(axis) == Role::none) return "a dimension of the result is in neither operand";
            groups_.push_back({axis});
        }
        for (const auto& dims : dims_)
            for (const auto& dim : dims)
                for (std::size_t i = 1; i < dim.axes.size(); ++i)
                    if (!join(dim.axes[i - 1], dim.axes[i]))
                        return "a view mixes dimensions the kernel must keep apart";
        return "";
    }

    bool join(Axis outer, Axis inner) {
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

    void append(Group& first, Group& second) {
        const Group moved = std::move(second);
        second.clear();
        first.insert(first.end(), moved.begin(), moved.end());
        std::erase(groups_, Group{});
    }

    // The tensor's dimensions of a group, outer first; nullopt unless they are whole, in the
    // group's order and evenly spaced.
    std::optional<std::vector<Dim>> dims_of(const std::vector<Dim>& dims,
                                            const Group& group) const {
        std::vector<Dim> found;
        std::size_t covered = 0;
        while (covered < group.size()) {
            const auto dim = std::ranges::find_if(
                dims, [&](const Dim& d) { return d.axes.front() == group[covered]; });
            if (dim == dims.end()) break;
            if (covered + dim->axes.size() > group.size()) return std::nullopt;
            if (!std::equal(dim->axes.begin(), dim->axes.end(), group.begin() + covered))
                return std::nullopt;
            if (!found.empty() && found.back().stride != dim->stride * dim->extent)
                return std::nullopt;
            covered += dim->axes.size();
            found.push_back(*dim);
        }
        const bool touched = std::ranges::any_of(dims, [&](const Dim& d) {
            return std::ranges::any_of(d.axes, [&](Axis axis) { return holds(group, axis); });
        });
        if (covered != group.size() && (touched || covered > 0)) return std::nullopt;
        return found;
    }

    bool can_merge(const Group& outer, const Group& inner) const {
        if (role(outer.front()) != role(inner.front())) return false;
        Group both = outer;
        both.insert(both.end(), inner.begin(), inner.end());
        return std::ranges::all_of(dims_,
                                   [&](auto& dims) { return dims_of(dims, both).has_value(); });
    }

    void merge_groups() {
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t i = 0; i < groups_.size() && !changed; ++i)
                for (std::size_t j = 0; j < groups_.size() && !changed; ++j)
                    if (i != j && can_merge(groups_[i], groups_[j])) {
                        append(groups_[i], groups_[j]);
                        changed = true;
                    }
        }
    }

    std::int64_t extent(const Group& group) const {
        std::int64_t product = 1;
        for (const Axis axis : group) product *= space_.extent(axis);
        return product;
    }

    // The group that is the product's rows or columns: the contiguous one if there is such, else
    // the largest; the others become batches that the other operand lacks.
    std::optional<Group> take(Role wanted, Axis contiguous) {
        auto best = groups_.end();
        for (auto group = groups_.begin(); group != groups_.end(); ++group) {
            if (role(group->front()) != wanted) continue;
            if (holds(*group, contiguous)) {
                best = group;
                break;
            }
            if (best == groups_.end() || extent(*group) >= extent(*best)) best = group;
        }
        if (best == groups_.end()) return std::nullopt;
        Group taken = *best;
        groups_.erase(best);
        return taken;
    }

    std::string name_dims(Layout& layout) {
        const auto m = take(Role::m, innermost(dims_[0])), n = take(Role::n, innermost(dims_[2]));
        const auto k = take(Role::k, k_);
        if (!m || !n || !k) return "a row or column dimension is broadcast or missing";
        if (groups_.size() > 2)
            return fmt::format("it has {} batch dimensions that cannot be merged, kernels take two",
                               groups_.size());
        if (groups_.size() == 2) {
            const bool crossed = lacks(0, groups_[0]) != lacks(0, groups_[1]) &&
                                 lacks(1, groups_[0]) != lacks(1, groups_[1]);
            if (crossed) return "each operand lacks a batch dimension of the other";
        }
        static constexpr const char* kBatch[] = {"B", "H"};
        for (std::size_t i = 0; i < groups_.size(); ++i)
            layout.dims.push_back({kBatch[i], groups_[i], extent(groups_[i])});
        layout.dims.push_back({"M", *m, extent(*m)});
        layout.dims.push_back({"N", *n, extent(*n)});
        layout.dims.push_back({"K", *k, extent(*k)});
        return "";
    }

    bool lacks(std::size_t operand, const Group& group) const {
        return !in_operand(operand, group.front());
    }

    Result<Laid> lay(std::size_t tensor, const Layout& layout) const {
        struct Entry {
            int dim;
            std::int64_t extent, stride;
            std::vector<int> at;
        };
        std::vector<Entry> entries;
        for (std::size_t i = 0; i < layout.dims.size(); ++i) {
            const auto dims = dims_of(dims_[tensor], layout.dims[i].axes);
            if (!dims)
                return Error{fmt::format("the strides of {} do not let its dimensions be merged as "
                                         "the product needs",
                                         name(tensor)),
                             ""};
            if (dims->empty()) continue;
            Entry entry{static_cast<int>(i), layout.dims[i].extent, dims->back().stride, {}};
            for (const auto& dim : *dims) entry.at.push_back(dim.at);
            entries.push_back(std::move(entry));
        }
        // A dimension of extent one has no stride to speak of: it goes outermost.
        std::ranges::stable_sort(entries, std::ranges::greater(), [](const Entry& entry) {
            return entry.extent == 1 ? std::numeric_limits<std::int64_t>::max() : entry.stride;
        });
        Laid laid{tensors_[tensor].value, {}, {}};
        for (auto& entry : entries) {
            laid.order.push_back(entry.dim);
            laid.dims.push_back(std::move(entry.at));
        }
        if (!entries.empty() && entries.back().extent > 1 && entries.back().stride != 1)
            return Error{fmt::format("{} has no contiguous dimension", name(tensor)), ""};
        if (tensor > 2) return laid;

        const auto& type = *graph_[laid.value].type;
        const int bytes = info(type.dtype).bytes, inner = laid.order.back();
        const int own = tensor == 1 ? layout.n() : layout.m();
        if (tensor == 2 ? inner != layout.n() : inner != own && inner != layout.k())
            return Error{fmt::format("the contiguous dimension of {} is not one of its matrix "
                                     "dimensions",
                                     name(tensor)),
                         ""};
        for (const auto& entry : entries) {
            if (entry.extent == 1 || entry.dim == inner) continue;
            if (entry.stride * bytes % 16 != 0)
                return Error{fmt::format("the row stride of {} ({} {}) is not a multiple of 16 "
                                         "bytes, as TMA needs",
                                         name(tensor), entry.stride, info(type.dtype).name),
                             ""};
        }
        if (type.offset * bytes % 16 != 0)
            return Error{fmt::format("{} starts {} bytes into its storage, TMA needs a multiple of "
                                     "16",
                                     name(tensor), type.offset * bytes),
                         ""};
        return laid;
    }

    const graph::Graph& graph_;
    const Space& space_;
    Axis k_;
    std::vector<Placed> tensors_;
    std::vector<std::vector<Dim>> dims_;
    Group kept_;
    std::vector<Group> groups_;
};

}  // namespace

Result<Layout> lay_out(const graph::Graph& graph, const Space& space, Axis k, const Placed& a,
                       const Placed& b, const Placed& result, const std::vector<Placed>& sides) {
    std::vector<Placed> tensors{a, b, result};
    tensors.insert(tensors.end(), sides.begin(), sides.end());
    return Planner(graph, space, k).plan(std::move(tensors));
}

}  // namespace fact::match

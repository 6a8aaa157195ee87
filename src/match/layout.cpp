#include "match/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace fact::match {
namespace {

using Group = std::vector<Axis>;

enum class Role { batch, m, n, k, other };  // other: in neither operand

// One dimension of a tensor that the kernel sees.
struct Dim {
    int at = 0;  // in the graph's tensor
    std::int64_t extent = 1, stride = 0;
    Group axes;
};

bool holds(const Group& group, Axis axis) {
    return std::ranges::find(group, axis) != group.end();
}

constexpr std::size_t kFirstResult = 2;  // among the planner's tensors: a, b, results, sides

class Planner {
  public:
    Planner(const graph::Graph& graph, const Space& space, Axis k)
        : graph_(graph), space_(space), k_(k) {}

    Result<Layout> plan(const Parts& parts) {
        tensors_ = {parts.a, parts.b};
        tensors_.insert(tensors_.end(), parts.results.begin(), parts.results.end());
        tensors_.insert(tensors_.end(), parts.sides.begin(), parts.sides.end());
        Layout layout;
        keep_axes();
        for (const auto& tensor : tensors_) dims_.push_back(visible_dims(tensor));
        // Behind a reduction the product is not the result, and lies as it likes.
        const Axis fastest = innermost(dims_[kFirstResult]);
        if (space_.groups().empty() && fastest >= 0 && role(fastest) == Role::m) {
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
        const auto sides = laid.begin() + static_cast<long>(kFirstResult + parts.results.size());
        layout.results.assign(laid.begin() + kFirstResult, sides);
        layout.sides.assign(sides, laid.end());
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
        return a ? Role::m : b ? Role::n : Role::other;
    }

    // Axes of extent one are dropped, but rows, columns and the sum keep at least one axis each.
    void keep_axes() {
        Group units;
        bool wide[5] = {};
        const auto sort = [&](const Shape& shape) {
            for (const auto& axes : shape)
                for (const Axis axis : axes) {
                    Group& list = space_.extent(axis) > 1 ? kept_ : units;
                    if (space_.extent(axis) > 1) wide[static_cast<int>(role(axis))] = true;
                    if (!holds(list, axis)) list.push_back(axis);
                }
        };
        sort(tensors_[kFirstResult].shape);
        for (const auto& tensor : tensors_) sort(tensor.shape);
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
        for (const Axis axis : kept_) groups_.push_back({axis});
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

    // Whether an operator looks along one of two neighbouring axes and not along the other.
    bool apart(Axis x, Axis y) const {
        for (const auto& [node, groups] : space_.groups())
            for (const auto& axes : groups)
                if (holds(axes, x) != holds(axes, y)) return true;
        return false;
    }

    // Adds the atoms of a dimension. All but the outermost are numbers.
    Atoms add_atoms(Layout& layout, const Group& group, std::string name, std::string outer) {
        std::vector<Group> runs{{group.front()}};
        for (std::size_t i = 1; i < group.size(); ++i)
            if (apart(group[i - 1], group[i]))
                runs.push_back({group[i]});
            else
                runs.back().push_back(group[i]);
        Atoms added;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const std::int64_t size = extent(runs[i]);
            std::string called = runs.size() == 1 ? name : i == 0 ? outer : std::to_string(size);
            added.push_back(static_cast<int>(layout.atoms.size()));
            layout.atoms.push_back({std::move(called), runs[i], size});
        }
        return added;
    }

    std::string name_dims(Layout& layout) {
        const auto m = take(Role::m, innermost(dims_[0]));
        const auto n = take(Role::n, innermost(dims_[layout_of_columns()]));
        const auto k = take(Role::k, k_);
        if (!m || !n || !k) return "a row or column dimension is broadcast or missing";
        std::vector<Group> others;
        std::erase_if(groups_, [&](const Group& group) {
            const bool other = role(group.front()) == Role::other;
            if (other) others.push_back(group);
            return other;
        });
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
            layout.batches.push_back(add_atoms(layout, groups_[i], kBatch[i], kBatch[i]));
        layout.m = add_atoms(layout, *m, "M", "P");
        layout.n = add_atoms(layout, *n, "N", "G");
        layout.k = add_atoms(layout, *k, "K", "K");
        for (std::size_t i = 0; i < others.size(); ++i) {
            const std::string name = i == 0 ? "S" : fmt::format("S{}", i + 1);
            add_atoms(layout, others[i], name, name);
        }
        for (std::size_t i = 0; i < layout.atoms.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (layout.atoms[i].name == layout.atoms[j].name)
                    return fmt::format("two parts of its dimensions both have extent {}",
                                       layout.atoms[i].name);
        return "";
    }

    // The tensor whose contiguous dimension the columns had best be: the result, or the operand
    // where a reduction stands between.
    std::size_t layout_of_columns() const { return space_.groups().empty() ? kFirstResult : 1; }

    bool lacks(std::size_t operand, const Group& group) const {
        return !in_operand(operand, group.front());
    }

    // One dimension of a tensor in the kernel.
    struct Entry {
        Atoms atoms;
        std::int64_t extent, stride;
        std::vector<int> at;
    };

    // The tensor's dimensions that these atoms are, as one where the strides allow it, else atom by
    // atom; `wrong` where not even that.
    std::vector<Entry> entries(std::size_t tensor, const Layout& layout, const Atoms& dim,
                               bool& wrong) const {
        const auto entry = [&](const Atoms& atoms, bool& fits) -> std::optional<Entry> {
            Group axes;
            for (const int atom : atoms) {
                const auto& own = layout.atoms[static_cast<std::size_t>(atom)].axes;
                axes.insert(axes.end(), own.begin(), own.end());
            }
            const auto dims = dims_of(dims_[tensor], axes);
            fits = dims.has_value();
            if (!dims || dims->empty()) return std::nullopt;
            Entry found{atoms, layout.extent(atoms), dims->back().stride, {}};
            for (const auto& one : *dims) found.at.push_back(one.at);
            return found;
        };
        std::vector<Entry> found;
        bool fits = false;
        if (auto whole = entry(dim, fits); fits) {
            if (whole) found.push_back(std::move(*whole));
            return found;
        }
        for (const int atom : dim) {
            if (auto part = entry({atom}, fits)) found.push_back(std::move(*part));
            wrong |= !fits;
        }
        return found;
    }

    std::vector<Atoms> all_dims(const Layout& layout) const {
        std::vector<Atoms> dims = layout.batches;
        dims.insert(dims.end(), {layout.m, layout.n, layout.k});
        for (int atom = layout.k.back() + 1; atom < static_cast<int>(layout.atoms.size()); ++atom)
            dims.push_back({atom});
        return dims;
    }

    Result<Laid> lay(std::size_t tensor, const Layout& layout) const {
        std::vector<Entry> found;
        for (const Atoms& dim : all_dims(layout)) {
            bool wrong = false;
            for (auto& entry : entries(tensor, layout, dim, wrong))
                found.push_back(std::move(entry));
            if (wrong)
                return Error{fmt::format("the strides of {} do not let its dimensions be merged as "
                                         "the product needs",
                                         name(tensor)),
                             ""};
        }
        // A dimension of extent one has no stride to speak of: it goes outermost.
        std::ranges::stable_sort(found, std::ranges::greater(), [](const Entry& entry) {
            return entry.extent == 1 ? std::numeric_limits<std::int64_t>::max() : entry.stride;
        });
        Laid laid{tensors_[tensor].value, {}, {}, 16};
        if (!found.empty() && found.back().extent > 1 && found.back().stride != 1)
            return Error{fmt::format("{} has no contiguous dimension", name(tensor)), ""};
        for (auto& entry : found) {
            laid.order.push_back(entry.atoms);
            laid.dims.push_back(entry.at);
        }
        laid.alignment = alignment(laid.value, found);
        const bool plain = tensor < kFirstResult || (tensor == kFirstResult && unreduced());
        if (!plain) return laid;
        const Atoms& inner = laid.order.back();
        const Atoms& own = tensor == 0 ? layout.m : layout.n;
        if (inner != own && (tensor == kFirstResult || inner != layout.k))
            return Error{fmt::format("the contiguous dimension of {} is not one of its matrix "
                                     "dimensions",
                                     name(tensor)),
                         ""};
        return laid;
    }

    bool unreduced() const { return space_.groups().empty(); }

    int alignment(graph::ValueId value, const std::vector<Entry>& entries) const {
        const auto& type = *graph_[value].type;
        std::int64_t together = type.offset;
        for (const auto& entry : entries)
            if (entry.extent > 1 && entry.stride != 1) together = std::gcd(together, entry.stride);
        const std::int64_t bytes = together * info(type.dtype).bytes;
        return together == 0 ? 16 : static_cast<int>(std::gcd(bytes, std::int64_t{16}));
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

std::int64_t Layout::extent(const Atoms& dim) const {
    std::int64_t product = 1;
    for (const int atom : dim) product *= atoms[static_cast<std::size_t>(atom)].extent;
    return product;
}

Result<Layout> lay_out(const graph::Graph& graph, const Space& space, Axis k, const Parts& parts) {
    return Planner(graph, space, k).plan(parts);
}

}  // namespace fact::match

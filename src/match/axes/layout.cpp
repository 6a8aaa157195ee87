#include "match/axes/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "graph/fused.h"
#include "match/axes/memory_order.h"

namespace fact::match {
namespace {

class Planner {
  public:
    Planner(const graph::Graph& graph, const Space& space, Axis k, Grouping grouping)
        : graph_(graph), space_(space), k_(k), grouping_(std::move(grouping)) {}

    Result<Layout> plan(std::size_t num_results) {
        Layout layout;
        // The columns of a stored product should be contiguous: if its rows are, the transposed
        // product is computed. After a reduction the product itself is not stored.
        const Axis fastest = grouping_.innermost(kFirstResult);
        layout.swapped = unreduced() && fastest >= 0 && grouping_.role(fastest) == Role::m;
        if (layout.swapped) grouping_.swap_operands();
        if (std::string reason = grouping_.merge(); !reason.empty()) return Error{reason, ""};
        if (std::string reason = name_dims(layout); !reason.empty()) return Error{reason, ""};
        if (k_ == kNoAxis && !space_.windows().empty())
            follow_memory(graph_, space_, grouping_.tensors().front(),
                          std::span(grouping_.tensors()).subspan(kFirstResult, num_results),
                          layout);
        std::vector<KernelTensor> kernel_tensors;
        for (std::size_t i = 0; i < grouping_.tensors().size(); ++i) {
            auto tensor = kernel_tensor(i, layout);
            if (!tensor) return tensor.error();
            kernel_tensors.push_back(*tensor);
        }
        layout.a = kernel_tensors[0];
        layout.b = kernel_tensors[1];
        const auto sides = kernel_tensors.begin() + static_cast<long>(kFirstResult + num_results);
        layout.results.assign(kernel_tensors.begin() + kFirstResult, sides);
        layout.sides.assign(sides, kernel_tensors.end());
        return layout;
    }

  private:
    const std::string& name(std::size_t tensor) const {
        return graph_[grouping_.tensors()[tensor].value].name;
    }

    // Whether no operator reduces, halves or joins along an axis, or sees it through windows. A
    // norm by running statistics works along none.
    bool unreduced() const {
        return space_.windows().empty() &&
               std::ranges::all_of(space_.groups(),
                                   [](const auto& groups) { return groups.second.empty(); });
    }

    // Removes and returns the group for the product's rows or columns: the contiguous one if there
    // is one, else the largest. The remaining ones become batches that the other operand lacks.
    std::optional<Group> take_group(Role wanted, Axis contiguous) {
        auto& groups = grouping_.groups();
        const auto size = [&](const Group& group) { return grouping_.extent(group); };
        auto best = groups.end();
        for (auto group = groups.begin(); group != groups.end(); ++group) {
            if (grouping_.role(group->front()) != wanted) continue;
            if (holds(*group, contiguous)) {
                best = group;
                break;
            }
            if (best == groups.end() || size(*group) >= size(*best)) best = group;
        }
        if (best == groups.end()) return std::nullopt;
        Group taken = *best;
        groups.erase(best);
        return taken;
    }

    // Whether two neighbouring axes must be different atoms: a row-wise operator or windows work
    // along only one of them or, if there are halves, a tensor runs over only one of them.
    bool must_separate(Axis x, Axis y) const {
        if (space_.is_windowed(x) || space_.is_windowed(y)) return true;
        for (const auto& [node, windows] : space_.windows())
            if (holds(windows.whole, x) != holds(windows.whole, y)) return true;
        for (const auto& [node, groups] : space_.groups())
            for (const auto& axes : groups)
                if (holds(axes, x) != holds(axes, y)) return true;
        const auto runs_over = [](const PlacedTensor& tensor, Axis axis) {
            return std::ranges::any_of(tensor.shape,
                                       [&](const Group& axes) { return holds(axes, axis); });
        };
        return space_.has_halves() &&
               std::ranges::any_of(grouping_.tensors(), [&](const PlacedTensor& tensor) {
                   return runs_over(tensor, x) != runs_over(tensor, y);
               });
    }

    // Adds the atoms of a dimension: a single one is called `name`, else the first is called
    // `outer` and the others by their extents.
    Atoms add_atoms(Layout& layout, const Group& group, std::string name, std::string outer) {
        std::vector<Group> runs{{group.front()}};
        for (std::size_t i = 1; i < group.size(); ++i)
            if (must_separate(group[i - 1], group[i]))
                runs.push_back({group[i]});
            else
                runs.back().push_back(group[i]);
        Atoms added;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const std::int64_t size = grouping_.extent(runs[i]);
            std::string atom_name = runs.size() == 1 ? name : i == 0 ? outer : std::to_string(size);
            // The kernel flips this dimension, which must have a constant extent.
            if (space_.is_halved(runs[i].front())) atom_name = std::to_string(size);
            added.push_back(static_cast<int>(layout.atoms.size()));
            layout.atoms.push_back({std::move(atom_name), runs[i], size});
        }
        return added;
    }

    // Without a product, all dimensions have the role `batch`: the contiguous one becomes N, the
    // last of the others M. Returns why that is impossible, or "".
    std::string name_rows(Layout& layout) {
        // After a reduction the result may lack the contiguous dimension of what is read.
        const Axis fastest = grouping_.innermost(unreduced() ? kFirstResult : 0);
        const auto n = take_group(Role::batch, fastest);
        if (!n) return "it is a single number";
        std::vector<Group> groups, others;
        for (const Group& group : grouping_.groups())
            (grouping_.role(group.front()) == Role::other ? others : groups).push_back(group);
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const std::size_t from_last = groups.size() - 1 - i;
            const std::string name = from_last == 0 ? "M" : fmt::format("B{}", from_last);
            auto atoms = add_atoms(layout, groups[i], name, from_last == 0 ? "P" : name);
            if (from_last == 0)
                layout.m = std::move(atoms);
            else
                layout.batches.push_back(std::move(atoms));
        }
        layout.n = add_atoms(layout, *n, "N", "G");
        add_others(layout, others);
        name_windows(layout);
        return repeated_name(layout);
    }

    // Windows go over H, W and D, are numbered by P, Q and O, and have taps R, S and T; a
    // convolution is from channels C to features F.
    void name_windows(Layout& layout) const {
        constexpr std::string_view kNames[][3] = {
            {"H", "P", "R"}, {"W", "Q", "S"}, {"D", "O", "T"}};
        std::set<Axis> named;
        const auto rename = [&](Axis axis, std::string_view name) {
            const auto atom = std::ranges::find_if(
                layout.atoms, [&](const Atom& a) { return a.axes == Group{axis}; });
            if (atom == layout.atoms.end() || !named.insert(axis).second) return;
            const auto taken = [&](const std::string& text) {
                return std::ranges::find(layout.atoms, text, &Atom::name) != layout.atoms.end();
            };
            std::string unused(name);
            for (int i = 2; taken(unused); ++i) unused = fmt::format("{}{}", name, i);
            atom->name = std::move(unused);
        };
        for (const auto& [node, windows] : space_.windows()) {
            if (!windows.features.empty() && !layout.batches.empty()) {
                const auto& images = layout.atoms[static_cast<std::size_t>(layout.batches[0][0])];
                rename(images.axes.front(), "B");
            }
            if (!windows.features.empty()) rename(windows.features.front(), "F");
            for (const Axis channels : windows.channels) rename(channels, "C");
        }
        for (const auto& [node, windows] : space_.windows())
            for (std::size_t i = 0; i < windows.windows.size() && i < std::size(kNames); ++i) {
                rename(windows.windows[i].of, kNames[i][0]);
                rename(windows.windows[i].places, kNames[i][1]);
                rename(windows.windows[i].taps, kNames[i][2]);
            }
    }

    // Names the dimensions of the kernel. Returns why that is impossible, or "".
    std::string name_dims(Layout& layout) {
        if (k_ == kNoAxis) return name_rows(layout);
        // The columns should be contiguous in the result or, if a reduction follows the product, in
        // operand b.
        const auto m = take_group(Role::m, grouping_.innermost(0));
        const auto n = take_group(Role::n, grouping_.innermost(unreduced() ? kFirstResult : 1));
        const auto k = take_group(Role::k, k_);
        if (!m || !n || !k) return "a row or column dimension is broadcast or missing";
        std::vector<Group> others;
        bool a_lacks = false, b_lacks = false;
        for (const Group& group : grouping_.groups()) {
            if (grouping_.role(group.front()) == Role::other) {
                others.push_back(group);
                continue;
            }
            a_lacks |= grouping_.lacks(0, group);
            b_lacks |= grouping_.lacks(1, group);
            const std::size_t number = layout.batches.size();
            const std::string name = number == 0   ? "B"
                                     : number == 1 ? "H"
                                                   : fmt::format("B{}", number + 1);
            layout.batches.push_back(add_atoms(layout, group, name, name));
        }
        if (a_lacks && b_lacks) return "each operand lacks a batch dimension of the other";
        layout.m = add_atoms(layout, *m, "M", "P");
        layout.n = add_atoms(layout, *n, "N", "G");
        layout.k = add_atoms(layout, *k, "K", "K");
        add_others(layout, others);
        name_windows(layout);
        return repeated_name(layout);
    }

    // Names dimensions that only side operands have.
    void add_others(Layout& layout, const std::vector<Group>& others) {
        for (std::size_t i = 0; i < others.size(); ++i) {
            const std::string name = i == 0 ? "S" : fmt::format("S{}", i + 1);
            layout.others.push_back(add_atoms(layout, others[i], name, name));
        }
    }

    // Why two atoms have the same name, or "". A text could not tell them apart.
    static std::string repeated_name(const Layout& layout) {
        for (std::size_t i = 0; i < layout.atoms.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (layout.atoms[i].name == layout.atoms[j].name)
                    return fmt::format("two parts of its dimensions both have extent {}",
                                       layout.atoms[i].name);
        return "";
    }

    // One dimension of a tensor in the kernel.
    struct Entry {
        Atoms atoms;
        std::int64_t extent, stride;
        std::vector<int> at;  // the dimensions of the graph's tensor
    };

    // The tensor's dimensions for these atoms: one if the strides allow it, else as few as
    // possible. Sets `mismatch` if an atom does not match dimensions of the tensor.
    std::vector<Entry> entries(std::size_t tensor, const Layout& layout, const Atoms& dim,
                               bool& mismatch) const {
        // These atoms as one dimension. nullopt if the tensor does not have them, or if `fits`
        // becomes false: then its strides do not allow one dimension.
        const auto entry = [&](const Atoms& atoms, bool& fits) -> std::optional<Entry> {
            Group axes;
            for (const int atom : atoms) {
                const auto& merged = layout.atoms[static_cast<std::size_t>(atom)].axes;
                axes.insert(axes.end(), merged.begin(), merged.end());
            }
            const auto dims = grouping_.dims_of(tensor, axes);
            fits = dims.has_value();
            if (!dims || dims->empty()) return std::nullopt;
            Entry found{atoms, layout.extent(atoms), dims->back().stride, {}};
            for (const TensorDim& tensor_dim : *dims) found.at.push_back(tensor_dim.at);
            return found;
        };
        std::vector<Entry> found;
        for (std::size_t first = 0; first < dim.size();) {
            bool fits = false;
            std::size_t count = dim.size() - first;
            for (;; --count) {
                const auto from = dim.begin() + static_cast<std::ptrdiff_t>(first);
                auto part = entry({from, from + static_cast<std::ptrdiff_t>(count)}, fits);
                if (part) found.push_back(std::move(*part));
                if (fits || count == 1) break;
            }
            mismatch |= !fits;
            first += count;
        }
        return found;
    }

    std::vector<Atoms> all_dims(const Layout& layout) const {
        std::vector<Atoms> dims = layout.batches;
        for (const Atoms& dim : {layout.m, layout.n, layout.k})
            if (!dim.empty()) dims.push_back(dim);
        dims.insert(dims.end(), layout.others.begin(), layout.others.end());
        return dims;
    }

    Result<KernelTensor> kernel_tensor(std::size_t tensor, const Layout& layout) const {
        std::vector<Entry> found;
        for (const Atoms& dim : all_dims(layout)) {
            bool mismatch = false;
            for (auto& entry : entries(tensor, layout, dim, mismatch))
                found.push_back(std::move(entry));
            if (mismatch)
                return Error{fmt::format("the strides of {} do not let its dimensions be merged as "
                                         "the kernel needs",
                                         name(tensor)),
                             ""};
        }
        // The stride of a dimension of extent one is arbitrary: it goes outermost.
        std::ranges::stable_sort(found, std::ranges::greater(), [](const Entry& entry) {
            return entry.extent == 1 ? std::numeric_limits<std::int64_t>::max() : entry.stride;
        });
        const PlacedTensor& placed = grouping_.tensors()[tensor];
        KernelTensor result{placed.value, {}, {}, 16, placed.half};
        if (!found.empty() && found.back().extent > 1 && found.back().stride != 1)
            return Error{fmt::format("{} has no contiguous dimension", name(tensor)), ""};
        for (auto& entry : found) {
            result.order.push_back(entry.atoms);
            result.dims.push_back(entry.at);
        }
        result.alignment = alignment(placed, found);
        const bool of_product =
            k_ != kNoAxis && (tensor < kFirstResult || (tensor == kFirstResult && unreduced()));
        if (!of_product) return result;
        const Atoms& inner = result.order.back();
        const Atoms& matrix_dim = tensor == 0 ? layout.m : layout.n;
        if (inner != matrix_dim && (tensor == kFirstResult || inner != layout.k))
            return Error{fmt::format("the contiguous dimension of {} is not one of its matrix "
                                     "dimensions",
                                     name(tensor)),
                         ""};
        return result;
    }

    int alignment(const PlacedTensor& placed, const std::vector<Entry>& entries) const {
        const auto& type = *graph_[placed.value].type;
        std::int64_t offset = type.offset;  // a common divisor of all starts
        if (placed.half) {                  // the second half starts further on
            const auto dim = static_cast<std::size_t>(placed.half->dim);
            const std::int64_t step = placed.half->stepped ? 1 : type.sizes[dim] / 2;
            offset = std::gcd(offset, placed.half->number * step * type.strides[dim]);
        }
        // A convolution's kernel merges the dimensions of places, so that their lengths, which are
        // the strides of dense tensors, say nothing: kernels ask for the lengths of merged rows.
        const bool merges = !space_.windows().empty();
        std::vector<std::int64_t> strides;
        std::int64_t dense = 1;
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
            if (entry->extent <= 1) continue;
            if (!merges || entry->stride != dense) strides.push_back(entry->stride);
            dense = entry->stride * entry->extent;
        }
        return graph::alignment(offset, strides, type.dtype);
    }

    const graph::Graph& graph_;
    const Space& space_;
    Axis k_;
    Grouping grouping_;
};

}  // namespace

std::int64_t Layout::extent(const Atoms& dim) const {
    std::int64_t product = 1;
    for (const int atom : dim) product *= atoms[static_cast<std::size_t>(atom)].extent;
    return product;
}

Result<Layout> plan_layout(const graph::Graph& graph, const Space& space, Axis k,
                           const RegionTensors& tensors) {
    std::vector<PlacedTensor> all{tensors.a, tensors.b};
    all.insert(all.end(), tensors.results.begin(), tensors.results.end());
    all.insert(all.end(), tensors.sides.begin(), tensors.sides.end());
    return Planner(graph, space, k, Grouping(graph, space, k, std::move(all)))
        .plan(tensors.results.size());
}

}  // namespace fact::match

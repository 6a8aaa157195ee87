#include "match/axes/forms.h"

#include <algorithm>

namespace fact::match {

using ir::DimId;
using ir::ExprId;

Forms::Forms(ir::Kernel& kernel, const Layout& layout, bool always_split)
    : kernel_(kernel), build_(kernel), layout_(layout), always_split_(always_split) {
    for (const Atom& atom : layout.atoms) atom_dims_.push_back(kernel.dim(atom.name));
    auto dims = layout.batches;
    dims.insert(dims.end(), {layout.m, layout.n, layout.k});
    dims.insert(dims.end(), layout.others.begin(), layout.others.end());
    for (const Atoms& dim : dims)
        if (dim.size() > 1) composites_.push_back(dim);
}

DimId Forms::dim(const Atoms& atoms) {
    std::vector<DimId> factors;
    for (const int atom : atoms) factors.push_back(atom_dims_[static_cast<std::size_t>(atom)]);
    return kernel_.factored_dim(factors);
}

std::vector<DimId> Forms::dims(const std::vector<Atoms>& order) {
    std::vector<DimId> out;
    for (const Atoms& atoms : order) out.push_back(dim(atoms));
    return out;
}

int Forms::first_atom(DimId dim) const {
    const auto at = std::ranges::find(atom_dims_, atoms_in({dim}).front());
    return static_cast<int>(at - atom_dims_.begin());
}

std::vector<DimId> Forms::atoms_in(const std::vector<DimId>& dims) const {
    std::vector<DimId> atoms;
    for (const DimId dim : dims) {
        if (std::ranges::find(atom_dims_, dim) != atom_dims_.end()) {
            atoms.push_back(dim);
            continue;
        }
        const auto factors = kernel_.factors({dim});
        for (auto at = factors.begin(); at != factors.end();) {
            const auto atom = std::ranges::find_if(atom_dims_, [&](DimId other) {
                const auto& parts = kernel_[other].factors;
                return !parts.empty() && std::ssize(parts) <= factors.end() - at &&
                       std::equal(parts.begin(), parts.end(), at);
            });
            const bool factored = atom != atom_dims_.end();
            atoms.push_back(factored ? *atom : *at);
            at += factored ? std::ssize(kernel_[*atom].factors) : 1;
        }
    }
    return atoms;
}

std::vector<DimId> Forms::sorted(std::vector<DimId> dims) const {
    std::ranges::sort(dims, {}, [&](DimId dim) { return first_atom(dim); });
    return dims;
}

std::vector<int> Forms::atoms_of(ExprId x) const {
    std::vector<int> atoms;
    for (const DimId dim : atoms_in(kernel_[x].type.dims))
        if (has_dim(dim)) atoms.push_back(first_atom(dim));
    std::ranges::sort(atoms);
    return atoms;
}

// Whether `x` has some but not all atoms of a merged dimension.
bool Forms::has_partial_dim(ExprId x) const {
    const auto atoms = atoms_of(x);
    return std::ranges::any_of(composites_, [&](const Atoms& dim) {
        const auto num_present = std::ranges::count_if(
            dim, [&](int atom) { return std::ranges::binary_search(atoms, atom); });
        return num_present > 0 && num_present < static_cast<std::ptrdiff_t>(dim.size());
    });
}

ExprId Forms::split(ExprId x) {
    return build_.view(x, atoms_in(kernel_[x].type.dims));
}

ExprId Forms::merge(ExprId x) {
    std::vector<DimId> dims;
    const auto atoms = atoms_of(x);
    for (std::size_t i = 0; i < atoms.size();) {
        Atoms merged{atoms[i]};
        for (const Atoms& composite : composites_)
            if (composite.front() == atoms[i] && std::ranges::includes(atoms, composite))
                merged = composite;
        dims.push_back(dim(merged));
        i += merged.size();  // the atoms of a merged dimension are consecutive
    }
    // Taps that no weight has come last.
    std::ranges::copy_if(kernel_[x].type.dims, std::back_inserter(dims),
                         [&](DimId dim) { return !has_dim(dim); });
    return build_.view(x, dims);
}

void Forms::align(std::vector<ExprId>& operands) {
    if (operands.empty()) return;
    const bool splits = always_split_ ||
                        std::ranges::any_of(operands, [&](ExprId x) { return has_partial_dim(x); });
    std::vector<DimId> all;
    for (ExprId& x : operands) {
        x = splits ? split(x) : merge(x);
        for (const DimId dim : kernel_[x].type.dims)
            if (std::ranges::find(all, dim) == all.end()) all.push_back(dim);
    }
    const bool one_has_all = std::ranges::any_of(
        operands, [&](ExprId x) { return kernel_[x].type.dims.size() == all.size(); });
    if (!one_has_all) operands.front() = broadcast(operands.front(), all);
}

// Gives `x` these dimensions, to combine a row with a column, for example: the language requires
// that one operand has all dimensions. A select has the dimensions of its condition, here of a
// comparison with the coordinate, and both of its branches are `x`.
ExprId Forms::broadcast(ExprId x, const std::vector<DimId>& dims) {
    ExprId wide = x;
    for (const DimId dim : dims)
        if (const auto& has = kernel_[wide].type.dims; std::ranges::find(has, dim) == has.end()) {
            const ExprId below = build_.binary(ir::BinaryOp::lt, wide, build_.index(dim));
            wide = build_.select(below, wide, wide);
        }
    return build_.permute(wide, sorted(kernel_[wide].type.dims));
}

std::vector<std::vector<DimId>> Forms::expose_axes(ExprId& x, const AxisGroups& groups) {
    const auto present = atoms_of(x);
    std::vector<Atoms> wanted;
    for (const auto& axes : groups) {
        auto& atoms = wanted.emplace_back();
        for (const int atom : present)
            if (std::ranges::find(
                    axes, layout_.atoms[static_cast<std::size_t>(atom)].axes.front()) != axes.end())
                atoms.push_back(atom);
    }
    const bool splits =
        always_split_ || has_partial_dim(x) || std::ranges::any_of(wanted, [&](const Atoms& atoms) {
            return std::ranges::any_of(composites_, [&](const Atoms& dim) {
                const auto num_wanted = std::ranges::count_if(
                    dim, [&](int atom) { return std::ranges::binary_search(atoms, atom); });
                return num_wanted > 0 && num_wanted < static_cast<std::ptrdiff_t>(dim.size());
            });
        });
    x = splits ? split(x) : merge(x);
    std::vector<std::vector<DimId>> found;
    for (const Atoms& atoms : wanted) {
        auto& dims = found.emplace_back();
        for (const DimId dim : kernel_[x].type.dims)
            if (std::ranges::binary_search(atoms, first_atom(dim))) dims.push_back(dim);
    }
    return found;
}

bool Forms::in_order(const std::vector<DimId>& dims, const std::vector<Axis>& axes) const {
    auto next = axes.begin();
    for (const DimId factor : atoms_in(dims))
        for (const Axis axis : layout_.atoms[static_cast<std::size_t>(first_atom(factor))].axes) {
            const auto at = std::find(next, axes.end(), axis);  // axes of one element have no atom
            if (at == axes.end()) return false;
            next = at + 1;
        }
    return true;
}

std::optional<DimId> Forms::axis_dim(Axis axis) const {
    for (std::size_t i = 0; i < layout_.atoms.size(); ++i)
        if (layout_.atoms[i].axes == Group{axis}) return atom_dims_[i];
    return std::nullopt;
}

ExprId Forms::arrange(ExprId x, const std::vector<Atoms>& order) {
    const auto wanted = dims(order);
    const ExprId merged = merge(x);
    if (sorted(kernel_[merged].type.dims) == sorted(wanted)) return build_.permute(merged, wanted);
    return build_.view(build_.permute(split(x), atoms_in(wanted)), wanted);
}

}  // namespace fact::match

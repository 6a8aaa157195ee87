#include "lower/pipeline/row_groups.h"

#include <algorithm>

#include "ir/dims.h"
#include "lower/pipeline/extract.h"
#include "lower/pipeline/uses.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

namespace {

using ir::ExprId;

// How many tensors `root` and `last` both read; 0 if one row kernel cannot compute `root` together
// with `members`, a group whose last member is `last`.
std::size_t num_shared(const ir::Kernel& kernel, const std::set<ExprId>& stored, ExprId root,
                       ExprId last, const std::vector<ExprId>& members) {
    const Extracted of_root = extract(kernel, root, stored);
    const Extracted of_last = extract(kernel, last, stored);
    std::vector<ExprId> group = members;
    group.push_back(root);
    const auto group_form = rows_form(extract(kernel, group, stored).kernel);
    if (!group_form) return 0;
    const auto dims_of = [&](ExprId id) { return kernel.factors(kernel[id].type.dims); };
    if (dims_of(root) != dims_of(last)) {
        // One value a row may be written beside the row, but with a product rows belong to tiles,
        // and a single row would leave all but one block idle.
        const auto rows_of = [&](ExprId id) {
            auto dims = dims_of(id);
            std::erase_if(dims, [&](ir::DimId dim) { return ir::contains(group_form->over, dim); });
            return dims;
        };
        const auto rows = rows_of(root);
        if (has_product(kernel) || rows.empty() || rows != rows_of(last)) return 0;
    }
    // A member that reduces its dimensions in another order would read memory in another order.
    for (const Extracted* part : {&of_root, &of_last})
        if (const auto form = rows_form(part->kernel);
            !form || (!form->over.empty() && form->over != group_form->over))
            return 0;
    const Extracted both = extract(kernel, std::vector{root, last}, stored);
    return of_root.leaves.size() + of_last.leaves.size() - both.leaves.size();
}

// Whether an output is among the values from `first` to `second`. Then these two cannot be one
// group: its stage would run after the output's stage, which may read `first`.
bool written_between(const ir::Kernel& kernel, ExprId first, ExprId second) {
    return std::ranges::any_of(kernel.outputs, [&](const ir::Output& output) {
        return output.value >= first && output.value <= second;
    });
}

// Whether the intermediates are reductions of the same tensors, which one row kernel can compute.
// Later ones may read more: a deviation also reads what each part of the row deviates by.
bool one_row_kernel(const ir::Kernel& kernel, const std::vector<ExprId>& members,
                    std::set<ExprId> stored) {
    for (const ExprId id : members) stored.erase(id);
    std::vector<ExprId> read;  // by the members so far
    for (const ExprId id : members) {
        const Extracted part = extract(kernel, id, stored);
        const auto form = rows_form(part.kernel);
        if (!form || form->over.empty() ||
            kernel[id].type.dims != kernel[members.front()].type.dims ||
            std::ranges::any_of(
                read, [&](ExprId leaf) { return std::ranges::count(part.leaves, leaf) == 0; }))
            return false;
        read = part.leaves;
    }
    return rows_form(extract(kernel, members, stored).kernel).ok();
}

// Whether the kernel of a group, whose last intermediate is `last`, can also write `output`: one
// value a row, computed from what the group computes, such as a running mean.
bool is_beside(const ir::Kernel& kernel, const std::vector<ExprId>& group, ExprId last,
               ExprId output, const std::set<ExprId>& stored) {
    if (output < last || kernel[output].type.dims != kernel[last].type.dims) return false;
    const Extracted part = extract(kernel, output, stored);
    bool reads_group = false;
    for (const ExprId leaf : part.leaves) {
        reads_group |= std::ranges::count(group, leaf) > 0;
        const bool written_later =
            leaf > last && !std::holds_alternative<ir::Param>(kernel[leaf].node);
        if (written_later || kernel[leaf].type.dims != kernel[output].type.dims) return false;
    }
    const auto form = rows_form(part.kernel);
    if (!reads_group || !form || !form->over.empty()) return false;
    std::set<ExprId> read = stored;
    for (const ExprId id : group) read.erase(id);
    std::vector<ExprId> all = group;
    all.push_back(output);
    return rows_form(extract(kernel, all, read).kernel).ok();
}

}  // namespace

std::map<ExprId, std::vector<ExprId>> row_groups(const ir::Kernel& kernel,
                                                 const std::vector<ExprId>& roots,
                                                 const std::set<ExprId>& stored) {
    std::map<ExprId, std::vector<ExprId>> groups;
    std::vector<ExprId> backwards = roots;
    std::sort(backwards.rbegin(), backwards.rend());
    for (const ExprId root : backwards) {
        std::size_t most_shared = 0;
        ExprId best = root;
        for (const auto& [last, members] : groups)
            if (const auto shared = num_shared(kernel, stored, root, last, members);
                shared > most_shared)
                most_shared = shared, best = last;
        groups[best].push_back(root);
    }
    for (auto& [last, members] : groups) std::sort(members.begin(), members.end());
    return groups;
}

std::map<ExprId, std::vector<ExprId>> stored_groups(const ir::Kernel& kernel,
                                                    const std::set<ExprId>& stored,
                                                    const std::vector<ExprId>& outputs) {
    std::map<ExprId, std::vector<ExprId>> groups;
    std::vector<ExprId> group;
    for (const ExprId id : stored) {
        const bool separated = !group.empty() && written_between(kernel, group.back(), id);
        group.push_back(id);
        if (group.size() > 1 && (separated || !one_row_kernel(kernel, group, stored))) {
            group.pop_back();
            groups[group.back()] = group;
            group = {id};
        }
    }
    if (!group.empty()) groups[group.back()] = group;
    for (const ExprId output : outputs)
        for (auto& [last, members] : groups)
            if (is_beside(kernel, members, last, output, stored)) {
                members.push_back(output);
                break;
            }
    return groups;
}

}  // namespace fact::lower

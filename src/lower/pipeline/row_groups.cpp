#include "lower/pipeline/row_groups.h"

#include <algorithm>

#include "lower/pipeline/extract.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

namespace {

using ir::ExprId;

// How many tensors both would read; 0 where they are no one kernel.
std::size_t num_shared(const ir::Kernel& kernel, const std::set<ExprId>& kept, ExprId root,
                       ExprId last, const std::vector<ExprId>& members) {
    if (kernel.factors(kernel[root].type.dims) != kernel.factors(kernel[last].type.dims)) return 0;
    const Extracted one = extract(kernel, root, kept), two = extract(kernel, last, kept);
    std::vector<ExprId> more = members;
    more.push_back(root);
    const auto all = rows_form(extract(kernel, more, kept).kernel);
    if (!all) return 0;
    // Reducing in another order would read memory in another order.
    for (const Extracted* part : {&one, &two})
        if (const auto own = rows_form(part->kernel);
            !own || (!own->over.empty() && own->over != all->over))
            return 0;
    const Extracted both = extract(kernel, std::vector{root, last}, kept);
    return one.leaves.size() + two.leaves.size() - both.leaves.size();
}

// Whether an output is computed, or read from the first, before the second is there.
bool written_between(const ir::Kernel& kernel, ExprId first, ExprId second) {
    return std::ranges::any_of(kernel.outputs, [&](const ir::Output& output) {
        return output.value >= first && output.value <= second;
    });
}

// Whether kept values are reductions of the same tensors.
bool one_row_kernel(const ir::Kernel& kernel, const std::vector<ExprId>& members,
                    std::set<ExprId> kept) {
    for (const ExprId id : members) kept.erase(id);
    const Extracted all = extract(kernel, members, kept);
    for (const ExprId id : members) {
        const Extracted part = extract(kernel, id, kept);
        const auto form = rows_form(part.kernel);
        if (!form || form->over.empty() || part.leaves != all.leaves ||
            kernel[id].type.dims != kernel[members.front()].type.dims)
            return false;
    }
    return rows_form(all.kernel).ok();
}

}  // namespace

std::map<ExprId, std::vector<ExprId>> row_groups(const ir::Kernel& kernel,
                                                 const std::vector<ExprId>& roots,
                                                 const std::set<ExprId>& kept) {
    std::map<ExprId, std::vector<ExprId>> groups;
    std::vector<ExprId> backwards = roots;
    std::sort(backwards.rbegin(), backwards.rend());
    for (const ExprId root : backwards) {
        std::size_t most = 0;
        ExprId with = root;
        for (const auto& [last, members] : groups)
            if (const auto shared = num_shared(kernel, kept, root, last, members); shared > most)
                most = shared, with = last;
        groups[with].push_back(root);
    }
    for (auto& [last, members] : groups) std::sort(members.begin(), members.end());
    return groups;
}

std::map<ExprId, std::vector<ExprId>> kept_groups(const ir::Kernel& kernel,
                                                  const std::set<ExprId>& kept) {
    std::map<ExprId, std::vector<ExprId>> groups;
    std::vector<ExprId> group;
    for (const ExprId id : kept) {
        const bool waited_for = !group.empty() && written_between(kernel, group.back(), id);
        group.push_back(id);
        if (group.size() > 1 && (waited_for || !one_row_kernel(kernel, group, kept))) {
            group.pop_back();
            groups[group.back()] = group;
            group = {id};
        }
    }
    if (!group.empty()) groups[group.back()] = group;
    return groups;
}

}  // namespace fact::lower

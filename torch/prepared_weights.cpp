#include "torch/prepared_weights.h"

#include <algorithm>
#include <set>

namespace fact::exec {

namespace {

// The workspaces a launch reads or writes.
std::set<int> workspaces_of(const LaunchRecord& record, const Launch& launch) {
    std::set<int> all;
    const auto note = [&](int tensor) {
        if (tensor >= record.num_bound()) all.insert(tensor - record.num_bound());
    };
    for (const auto& param : launch.params) {
        if (const auto* map = std::get_if<TensorMapParam>(&param)) note(map->tensor);
        if (const auto* plain = std::get_if<StructParam>(&param))
            for (const auto& member : plain->members)
                if (const auto* pointer = std::get_if<PointerField>(&member.field))
                    note(pointer->tensor);
    }
    return all;
}

}  // namespace

std::map<ParamSet, PreparedWorkspaces> prepared_workspaces(const LaunchRecord& record) {
    std::map<ParamSet, PreparedWorkspaces> result;
    for (const auto& launch : record.launches)
        if (!launch.prepares_from.empty()) result[launch.prepares_from];
    for (auto& [params, workspaces] : result) {
        std::set<int> inside, outside;
        for (const auto& launch : record.launches)
            (launch.prepares_from == params ? inside : outside)
                .merge(workspaces_of(record, launch));
        for (const int workspace : inside)
            (outside.contains(workspace) ? workspaces.kept : workspaces.passing)
                .push_back(workspace);
    }
    return result;
}

bool PreparedWeights::can_watch(const Tensors& weights) {
    return std::ranges::none_of(weights, [](const at::Tensor& w) { return w.is_inference(); });
}

bool PreparedWeights::Seen::is(const at::Tensor& weight) const {
    const auto alive = storage.lock();
    return alive && alive.get() == weight.storage().unsafeGetStorageImpl() &&
           data == weight.const_data_ptr() && version == weight._version() &&
           std::ranges::equal(strides, weight.strides());
}

std::optional<PreparedWeights::Tensors> PreparedWeights::find(const ParamSet& params,
                                                              const Tensors& weights,
                                                              bool capturing) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(params);
    if (found == entries_.end()) return std::nullopt;
    const auto& entry = found->second;
    const auto same = [](const Seen& seen, const at::Tensor& weight) { return seen.is(weight); };
    if (!std::ranges::equal(entry.weights, weights, same)) return std::nullopt;
    if (capturing) pinned_.push_back(entry.workspaces);
    return entry.workspaces;
}

void PreparedWeights::keep(const ParamSet& params, const Tensors& weights, Tensors workspaces) {
    Entry entry{{}, std::move(workspaces)};
    for (const auto& weight : weights)
        entry.weights.push_back({weight.storage().getWeakStorageImpl(), weight.const_data_ptr(),
                                 static_cast<std::uint32_t>(weight._version()),
                                 weight.strides().vec()});
    const std::lock_guard lock(mutex_);
    entries_.insert_or_assign(params, std::move(entry));
}

}  // namespace fact::exec

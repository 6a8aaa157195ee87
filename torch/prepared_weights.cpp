#include "torch/prepared_weights.h"

#include <algorithm>

namespace fact::exec {

std::map<int, std::vector<int>> prepared_workspaces(const LaunchRecord& record) {
    const int first = static_cast<int>(record.params.size() + record.outputs.size());
    std::map<int, std::vector<int>> result;
    for (const auto& launch : record.launches) {
        if (launch.prepares_from < 0) continue;
        auto& workspaces = result[launch.prepares_from];
        const auto note = [&](int tensor) {
            if (tensor >= first &&
                std::ranges::find(workspaces, tensor - first) == workspaces.end())
                workspaces.push_back(tensor - first);
        };
        for (const auto& param : launch.params) {
            if (const auto* map = std::get_if<TensorMapParam>(&param)) note(map->tensor);
            if (const auto* plain = std::get_if<StructParam>(&param))
                for (const auto& member : plain->members)
                    if (const auto* pointer = std::get_if<PointerField>(&member.field))
                        note(pointer->tensor);
        }
    }
    return result;
}

bool PreparedWeights::can_watch(const at::Tensor& weight) {
    return !weight.is_inference();
}

std::optional<PreparedWeights::Workspaces> PreparedWeights::find(int param,
                                                                 const at::Tensor& weight,
                                                                 bool capturing) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(param);
    if (found == entries_.end()) return std::nullopt;
    const auto& entry = found->second;
    const auto alive = entry.storage.lock();
    if (!alive || alive.get() != weight.storage().unsafeGetStorageImpl() ||
        entry.data != weight.const_data_ptr() || entry.version != weight._version() ||
        !std::ranges::equal(entry.strides, weight.strides()))
        return std::nullopt;
    if (capturing) pinned_.push_back(entry.workspaces);
    return entry.workspaces;
}

void PreparedWeights::keep(int param, const at::Tensor& weight, Workspaces workspaces) {
    const std::lock_guard lock(mutex_);
    Entry entry{weight.storage().getWeakStorageImpl(), weight.const_data_ptr(),
                static_cast<std::uint32_t>(weight._version()), weight.strides().vec(),
                std::move(workspaces)};
    entries_.insert_or_assign(param, std::move(entry));
}

}  // namespace fact::exec

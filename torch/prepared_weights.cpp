#include "torch/prepared_weights.h"

#include <algorithm>
#include <set>

namespace fact::exec {

namespace {

// The workspaces a launch reads or writes.
std::set<int> workspaces_of(const LaunchRecord& record, const Launch& launch) {
    std::set<int> all;
    for_each_tensor(launch, [&](int tensor) {
        if (tensor >= record.num_bound()) all.insert(tensor - record.num_bound());
    });
    return all;
}

bool are(const SeenWeights& before, const std::vector<at::Tensor>& weights) {
    return std::ranges::equal(before, weights, [](const SeenWeight& own, const at::Tensor& weight) {
        return own.is(weight);
    });
}

// What all kernels of the process keep, as long as one of them does.
class Shared {
  public:
    using Workspaces = std::shared_ptr<const std::vector<at::Tensor>>;

    static Shared& all() {
        static auto* const shared = new Shared;  // outlives whoever is destroyed at exit
        return *shared;
    }
    Workspaces find(const std::string& maker, const ParamSet& params,
                    const std::vector<at::Tensor>& weights) {
        const std::lock_guard lock(mutex_);
        for (const auto& item : items_[{maker, params}])
            if (auto alive = item.workspaces.lock(); alive && are(item.weights, weights))
                return alive;
        return nullptr;
    }
    void add(const std::string& maker, const ParamSet& params, SeenWeights weights,
             const Workspaces& workspaces) {
        const std::lock_guard lock(mutex_);
        auto& own = items_[{maker, params}];
        std::erase_if(own, [](const Item& item) { return item.workspaces.expired(); });
        own.push_back({std::move(weights), workspaces});
    }

  private:
    struct Item {
        SeenWeights weights;
        std::weak_ptr<const std::vector<at::Tensor>> workspaces;
    };
    std::mutex mutex_;
    std::map<std::pair<std::string, ParamSet>, std::vector<Item>> items_;
};

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

bool SeenWeight::is(const at::Tensor& weight) const {
    const auto alive = storage.lock();
    return alive && alive.get() == weight.storage().unsafeGetStorageImpl() &&
           data == weight.const_data_ptr() && version == weight._version() &&
           dtype == weight.scalar_type() && std::ranges::equal(sizes, weight.sizes()) &&
           std::ranges::equal(strides, weight.strides());
}

SeenWeights seen(const std::vector<at::Tensor>& weights) {
    SeenWeights all;
    for (const auto& weight : weights)
        all.push_back({weight.storage().getWeakStorageImpl(), weight.const_data_ptr(),
                       static_cast<std::uint32_t>(weight._version()), weight.scalar_type(),
                       weight.sizes().vec(), weight.strides().vec()});
    return all;
}

std::optional<PreparedWeights::Tensors> PreparedWeights::find(const ParamSet& params,
                                                              const Tensors& weights,
                                                              bool capturing) {
    const std::lock_guard lock(mutex_);
    auto found = entries_.find(params);
    if (found == entries_.end() || !are(found->second.weights, weights)) {
        auto others = Shared::all().find(maker_, params, weights);
        if (!others) return std::nullopt;
        found = entries_.insert_or_assign(params, Entry{seen(weights), std::move(others)}).first;
    }
    const auto& entry = found->second;
    if (capturing) pinned_.push_back(entry.workspaces);
    return *entry.workspaces;
}

void PreparedWeights::keep(const ParamSet& params, SeenWeights weights, Tensors workspaces) {
    Entry entry{std::move(weights), std::make_shared<const Tensors>(std::move(workspaces))};
    Shared::all().add(maker_, params, entry.weights, entry.workspaces);
    const std::lock_guard lock(mutex_);
    entries_.insert_or_assign(params, std::move(entry));
}

}  // namespace fact::exec

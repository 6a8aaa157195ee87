#include "torch/prepared_weights.h"

#include <algorithm>
#include <set>

namespace fact::exec {

namespace {

// The workspaces a launch reads or writes.
std::set<int> workspaces_of(const LaunchRecord& record, const Launch& launch) {
    std::set<int> all;
    for_each_tensor(record, launch, [&](int tensor) {
        if (tensor >= record.num_bound()) all.insert(tensor - record.num_bound());
    });
    return all;
}

bool are_same_tensors(const SeenWeights& before, const std::vector<at::Tensor>& weights) {
    return std::ranges::equal(before, weights, &SeenTensor::is);
}

bool are_same_tensors(const SeenWeights& one, const SeenWeights& other) {
    const auto same_place = [](const SeenTensor& a, const SeenTensor& b) {
        return a.storage == b.storage && a.data == b.data && a.dtype == b.dtype &&
               a.sizes == b.sizes && a.strides == b.strides;
    };
    return std::ranges::equal(one, other, same_place);
}

}  // namespace

// What was prepared from one set of weights.
struct PreparedWeights::Set {
    SeenWeights weights;  // as they were when it was prepared
    Tensors workspaces;
    bool forgotten = false;
    std::vector<c10::Stream> streams;  // readers that the allocator knows of

    bool is_current(const Tensors& now) const {
        return !forgotten && std::ranges::equal(weights, now, &SeenTensor::is_unchanged);
    }
    void record_reader(const Reader& reader) {
        if (!reader.stream || std::ranges::find(streams, *reader.stream) != streams.end()) return;
        for (const auto& workspace : workspaces) workspace.record_stream(*reader.stream);
        streams.push_back(*reader.stream);
    }
};

namespace {

// All sets of the process.
class Table {
  public:
    using Set = PreparedWeights::Set;
    using Key = std::pair<std::string, ParamSet>;
    struct Item {
        std::weak_ptr<Set> set;
        std::shared_ptr<Set> captured;  // the same set, kept alive if a CUDA graph reads it
    };

    static Table& all() {
        static auto* const table = new Table;  // outlives everything that is destroyed at exit
        return *table;
    }

    template <class Matches>
    Item* find(const std::string& maker, const ParamSet& params, Matches matches) {
        for (auto& item : items_[{maker, params}])
            if (const auto set = item.set.lock(); set && matches(set->weights)) return &item;
        return nullptr;
    }
    void add(const std::string& maker, const ParamSet& params, const std::shared_ptr<Set>& set) {
        items_[{maker, params}].push_back({set, nullptr});
    }
    // Drops sets that can never be found again.
    void drop_dead() {
        for (auto& [key, items] : items_)
            std::erase_if(items, [](const Item& item) {
                const auto set = item.set.lock();
                return !set || !std::ranges::all_of(set->weights, &SeenTensor::is_alive);
            });
        std::erase_if(items_, [](const auto& entry) { return entry.second.empty(); });
    }

    std::mutex mutex;

  private:
    std::map<Key, std::vector<Item>> items_;
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
            (outside.contains(workspace) ? workspaces.kept : workspaces.temporary)
                .push_back(workspace);
    }
    return result;
}

bool PreparedWeights::can_watch(const Tensors& weights) {
    return std::ranges::none_of(weights, [](const at::Tensor& w) { return w.is_inference(); });
}

SeenWeights seen(const std::vector<at::Tensor>& weights) {
    return {weights.begin(), weights.end()};
}

PreparedWeights::~PreparedWeights() {
    const std::lock_guard lock(Table::all().mutex);
    held_.clear();
    Table::all().drop_dead();
}

std::optional<PreparedWeights::Tensors> PreparedWeights::find(const ParamSet& params,
                                                              const Tensors& weights,
                                                              const Reader& reader) {
    auto& table = Table::all();
    const std::lock_guard lock(table.mutex);
    auto* item = table.find(maker_, params,
                            [&](const SeenWeights& own) { return are_same_tensors(own, weights); });
    const auto set = item ? item->set.lock() : nullptr;
    if (!set || !set->is_current(weights)) return std::nullopt;
    hold(params, set);
    if (reader.capturing)
        item->captured = set;
    else
        set->record_reader(reader);
    return set->workspaces;
}

std::optional<PreparedWeights::Tensors> PreparedWeights::captured(const ParamSet& params,
                                                                  const Tensors& weights) {
    auto& table = Table::all();
    const std::lock_guard lock(table.mutex);
    const auto* item = table.find(
        maker_, params, [&](const SeenWeights& own) { return are_same_tensors(own, weights); });
    if (!item || !item->captured) return std::nullopt;
    return item->captured->workspaces;
}

void PreparedWeights::keep(const ParamSet& params, SeenWeights weights, Tensors workspaces) {
    auto& table = Table::all();
    const std::lock_guard lock(table.mutex);
    table.drop_dead();
    auto* item = table.find(maker_, params,
                            [&](const SeenWeights& own) { return are_same_tensors(own, weights); });
    auto set = std::make_shared<Set>();
    if (item && item->captured)
        set = item->captured;
    else if (item)
        item->set = set;
    else
        table.add(maker_, params, set);
    set->weights = std::move(weights);
    // Memory that a CUDA graph reads has been filled in place already.
    if (set->workspaces.empty()) set->workspaces = std::move(workspaces);
    set->forgotten = false;
    hold(params, std::move(set));
}

void PreparedWeights::forget() {
    auto& table = Table::all();
    const std::lock_guard lock(table.mutex);
    for (const auto& [params, sets] : held_)
        for (const auto& set : sets) set->forgotten = true;
    held_.clear();
    table.drop_dead();
}

std::mutex& PreparedWeights::preparation_mutex() {
    static auto* const mutex = new std::mutex;
    return *mutex;
}

// Holds several sets: copies of a module, and GPUs, share its kernels but not its weights.
void PreparedWeights::hold(const ParamSet& params, std::shared_ptr<Set> set) {
    auto& own = held_[params];
    if (std::ranges::find(own, set) != own.end()) return;
    std::erase_if(own, [&](const std::shared_ptr<Set>& other) {
        return are_same_tensors(other->weights, set->weights) ||
               !std::ranges::all_of(other->weights, &SeenTensor::is_alive);
    });
    own.push_back(std::move(set));
}

}  // namespace fact::exec

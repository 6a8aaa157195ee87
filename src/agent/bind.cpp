#include "agent/bind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dsl/dsl.h"

namespace fact::agent {

namespace {

using graph::Graph;

using Extents = std::map<std::string, std::int64_t>;
// For each dimension of a kernel's tensor, the value's dimensions that it merges, outermost first.
using Groups = std::vector<std::vector<int>>;

// A tensor that the text declares, and the one of the interface that it stands for.
struct BoundTensor {
    const ir::Tensor* declared = nullptr;
    const Tensor* actual = nullptr;
};

// Adds the extents that follow from `dim` = `extent`. False if it contradicts a known one.
bool infer_extents(const ir::Kernel& kernel, ir::DimId dim, std::int64_t extent, Extents& extents) {
    std::vector<std::string> unknown;  // factors
    for (const ir::DimId factor : kernel.factors({dim})) {
        const auto& named = kernel[factor];
        const auto known = named.extent                   ? named.extent
                           : extents.contains(named.name) ? std::optional(extents.at(named.name))
                                                          : std::nullopt;
        if (!known) {
            unknown.push_back(named.name);
            continue;
        }
        if (*known == 0 || extent % *known != 0) return false;
        extent /= *known;
    }
    if (unknown.empty()) return extent == 1;  // the known factors have to be the whole extent
    if (unknown.size() == 1) extents[unknown.front()] = extent;
    return true;  // with two or more unknown factors, other tensors may determine them
}

// Adds to `out` every way to split the dimensions after the first `from` into `left` groups of
// neighbours, each contiguous in memory; `so_far` are the groups before them.
void groupings(const graph::TensorType& type, const std::vector<int>& dims, std::size_t from,
               std::size_t left, Groups& so_far, std::vector<Groups>& out) {
    if (left == 0) {
        if (from == dims.size()) out.push_back(so_far);
        return;
    }
    std::vector<int> group;
    for (std::size_t i = from; i < dims.size(); ++i) {
        if (!group.empty()) {
            const auto outer = static_cast<std::size_t>(group.back());
            const auto inner = static_cast<std::size_t>(dims[i]);
            if (type.strides[outer] != type.strides[inner] * type.sizes[inner]) return;
        }
        group.push_back(dims[i]);
        so_far.push_back(group);
        groupings(type, dims, i + 1, left - 1, so_far, out);
        so_far.pop_back();
    }
}

std::int64_t extent_of(const graph::TensorType& type, const std::vector<int>& group) {
    std::int64_t product = 1;
    for (const int d : group) product *= type.sizes[static_cast<std::size_t>(d)];
    return product;
}

// Many tensors whose extents agree by chance must not take minutes.
constexpr int kMaxReadings = 1000;

// A way to read the text's tensors as those of the interface.
struct Reading {
    Extents extents;
    std::vector<Groups> groups;  // of each pair's tensor
    int same_names = 0;          // dimensions that the text calls as the interface does
};

// Tries the groupings of each tensor's dimensions, and keeps the reading whose dimensions have most
// names in common with the interface: [R, K] for [B, M, K] is B*M rows of K, not B rows of M*K.
class Solver {
  public:
    Solver(const ir::Kernel& kernel, const Graph& graph, std::vector<BoundTensor> pairs)
        : kernel_(kernel), graph_(graph), pairs_(std::move(pairs)) {}

    std::optional<Reading> solve() {
        solve(0, {});
        return std::move(best_);
    }

  private:
    void solve(std::size_t at, const Extents& known) {
        if (at == pairs_.size()) return settle(known);
        const auto& [declared, actual] = pairs_[at];
        const auto& type = *graph_[actual->value].type;
        std::vector<Groups> ways;
        Groups so_far;
        groupings(type, actual->dims, 0, declared->type.dims.size(), so_far, ways);
        for (const Groups& way : ways) {
            Extents more = known;
            bool fits = true;
            for (std::size_t i = 0; fits && i < way.size(); ++i)
                fits =
                    infer_extents(kernel_, declared->type.dims[i], extent_of(type, way[i]), more);
            if (!fits) continue;
            groups_.push_back(way);
            solve(at + 1, more);
            groups_.pop_back();
            if (tried_ >= kMaxReadings) return;
        }
    }

    // Infers once more: other tensors may now have determined factors that were unknown. Factors
    // that none determines are the merged dimensions one by one, if there are as many: B*M. The
    // last pass checks the dimensions that an earlier one visited too early.
    void settle(Extents known) {
        ++tried_;
        for (int pass = 0; pass < 4; ++pass)
            for (std::size_t at = 0; at < pairs_.size(); ++at)
                for (std::size_t i = 0; i < groups_[at].size(); ++i) {
                    const auto& [declared, actual] = pairs_[at];
                    const auto& type = *graph_[actual->value].type;
                    const auto dim = declared->type.dims[i];
                    if (pass == 1) take_one_by_one(dim, type, groups_[at][i], known);
                    if (!infer_extents(kernel_, dim, extent_of(type, groups_[at][i]), known))
                        return;
                }
        const int same = count_same_names();
        if (!best_ || same > best_->same_names) best_ = Reading{std::move(known), groups_, same};
    }

    void take_one_by_one(ir::DimId dim, const graph::TensorType& type,
                         const std::vector<int>& group, Extents& known) const {
        const auto factors = kernel_.factors({dim});
        if (factors.size() != group.size() || group.size() < 2) return;
        for (std::size_t i = 0; i < factors.size(); ++i)
            if (const auto& named = kernel_[factors[i]]; !named.extent)
                known.try_emplace(named.name, type.sizes[static_cast<std::size_t>(group[i])]);
    }

    int count_same_names() const {
        int same = 0;
        for (std::size_t at = 0; at < pairs_.size(); ++at) {
            const auto& [declared, actual] = pairs_[at];
            for (std::size_t i = 0; i < groups_[at].size(); ++i) {
                if (groups_[at][i].size() != 1) continue;
                const auto place = std::ranges::find(actual->dims, groups_[at][i].front());
                const auto& name =
                    actual->dim_names[static_cast<std::size_t>(place - actual->dims.begin())];
                same += kernel_[declared->type.dims[i]].name == name;
            }
        }
        return same;
    }

    const ir::Kernel& kernel_;
    const Graph& graph_;
    std::vector<BoundTensor> pairs_;
    std::vector<Groups> groups_;  // of the pairs so far
    int tried_ = 0;
    std::optional<Reading> best_;
};

int alignment_of(const graph::TensorType& type, const Groups& groups) {
    std::vector<std::int64_t> strides;
    for (const auto& group : groups)
        strides.push_back(type.strides[static_cast<std::size_t>(group.back())]);
    return graph::alignment(type.offset, strides, type.dtype);
}

std::string spelled(const Graph& graph, const Tensor& tensor) {
    const auto& type = *graph[tensor.value].type;
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < tensor.dims.size(); ++i)
        sizes.push_back(fmt::format("{}={}", tensor.dim_names[i],
                                    type.sizes[static_cast<std::size_t>(tensor.dims[i])]));
    return fmt::format("{}: {}[{}]", tensor.name, info(type.dtype).name, fmt::join(sizes, ", "));
}

// Pairs the declared tensors with those of the interface, all of them and no others. `what` is the
// word for them in messages: "parameter" or "output".
Result<std::vector<BoundTensor>> pair_by_name(const Graph& graph,
                                              const std::vector<const ir::Tensor*>& all_declared,
                                              const std::vector<Tensor>& tensors,
                                              std::string_view what) {
    std::vector<BoundTensor> pairs;
    std::vector<std::string> all;
    for (const Tensor& tensor : tensors) all.push_back(spelled(graph, tensor));
    const auto hint = fmt::format("the {}s are {}", what, fmt::join(all, "; "));
    for (const ir::Tensor* declared : all_declared) {
        const auto at = std::ranges::find(tensors, declared->name, &Tensor::name);
        if (at == tensors.end())
            return Error{fmt::format("the proposal has no {} '{}'", what, declared->name), hint,
                         true};
        const auto dtype = graph[at->value].type->dtype;
        if (declared->type.dtype != dtype)
            return Error{fmt::format("{} '{}' is {}, not {}", what, declared->name,
                                     info(dtype).name, info(declared->type.dtype).name),
                         hint, true};
        pairs.push_back({declared, &*at});
    }
    for (const Tensor& tensor : tensors)
        if (std::ranges::none_of(pairs, [&](const BoundTensor& p) { return p.actual == &tensor; }))
            return Error{fmt::format("the text lacks the {} '{}'", what, tensor.name), hint, true};
    return pairs;
}

}  // namespace

Result<match::WrittenKernel> bind_text(const ir::Kernel& kernel, const Graph& graph,
                                       const Interface& interface) {
    std::vector<const ir::Tensor*> params, outputs;
    for (const auto& param : kernel.params) params.push_back(&param);
    for (const auto& output : kernel.outputs) outputs.push_back(&output.tensor);
    auto pairs = pair_by_name(graph, params, interface.params, "parameter");
    if (!pairs) return pairs.error();
    const auto results = pair_by_name(graph, outputs, interface.results, "output");
    if (!results) return results.error();
    const auto num_params = pairs->size();
    pairs->insert(pairs->end(), results->begin(), results->end());
    std::vector<std::string> wanted;
    for (const BoundTensor& pair : *pairs) wanted.push_back(spelled(graph, *pair.actual));
    const auto hint = fmt::format("the tensors are {}", fmt::join(wanted, "; "));
    const auto reading = Solver(kernel, graph, *pairs).solve();
    if (!reading)
        return Error{"the dimensions of the text do not fit the tensors of the proposal",
                     hint +
                         " (dimensions in memory order; you may merge neighbouring ones: "
                         "[B, M, K] as [R, K] or [B*M, K])",
                     true};
    match::WrittenKernel written{kernel, {}, {}, {}};
    for (const ir::Dim& dim : kernel.dims) {
        if (dim.extent || !dim.factors.empty()) continue;
        const auto known = reading->extents.find(dim.name);
        if (known == reading->extents.end())
            return Error{fmt::format("the tensors do not determine the extent of {}", dim.name),
                         "write it as a number; " + hint, true};
        written.extents.emplace(dim.name, known->second);
    }
    for (const auto& [dim, of] : kernel.multiples) {
        std::int64_t extent = 1;
        for (const ir::DimId factor : kernel.factors({dim}))
            extent *= kernel[factor].extent ? *kernel[factor].extent
                                            : reading->extents.at(kernel[factor].name);
        if (extent % of != 0)
            return Error{fmt::format("the text requires {} to be a multiple of {}, but it is {}",
                                     kernel[dim].name, of, extent),
                         "omit that constraint: a kernel needs none; " + hint, true};
    }
    for (std::size_t i = 0; i < pairs->size(); ++i) {
        const auto& [declared, actual] = (*pairs)[i];
        auto& to = i < num_params ? written.params : written.results;
        to.push_back({declared->name,
                      graph[actual->value].name,
                      reading->groups[i],
                      actual->constant,
                      alignment_of(*graph[actual->value].type, reading->groups[i]),
                      {}});
    }
    return written;
}

}  // namespace fact::agent

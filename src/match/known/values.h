// What values hold that depend on nothing but the module's buffers and on numbers: masks above all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/pt2_archive.h"

namespace fact::match {

// A tensor whose elements are known before anything runs. Views share the elements; a dimension of
// stride zero repeats them.
struct KnownTensor {
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;
    std::shared_ptr<const std::vector<double>> elements;

    double at(std::span<const std::int64_t> where) const;
    // The only value there is, where it has one element or repeats one.
    std::optional<double> number() const;
};

class KnownValues {
  public:
    // Both must outlive it.
    KnownValues(const graph::Graph& graph, std::span<const graph::Weight> weights);

    // Nothing where the value depends on an input or a parameter, on a buffer the module writes
    // to, on an operator that is not in the small list here, or is very large.
    std::optional<KnownTensor> of(graph::ValueId value);
    // The nodes that compute a known value from buffers and numbers.
    std::set<graph::NodeId> nodes_behind(graph::ValueId value) const;

  private:
    std::optional<KnownTensor> find(graph::ValueId value, bool keep);
    std::optional<KnownTensor> compute(graph::ValueId value);
    std::optional<KnownTensor> load(graph::ValueId value) const;
    std::optional<std::vector<KnownTensor>> find_indices(const graph::Node& node);

    const graph::Graph& graph_;
    std::map<graph::ValueId, const graph::Weight*> weights_;
    std::set<graph::ValueId> shared_;  // read more than once
    int depth_ = 0;                    // of what is being computed
    std::map<graph::ValueId, std::optional<KnownTensor>> known_;
};

}  // namespace fact::match

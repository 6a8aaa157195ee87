// The contents of values that depend only on the module's buffers and on numbers, such as masks.
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
    // The number that all elements share through strides of zero; nullopt if several elements are
    // stored, or none.
    std::optional<double> number() const;
};

class KnownValues {
  public:
    // Both arguments must outlive this object.
    KnownValues(const graph::Graph& graph, std::span<const graph::Weight> weights);

    // nullopt if the value is very large, or if it depends on an input, on a parameter, on a buffer
    // that the module writes to, or on an operator that is not implemented here.
    std::optional<KnownTensor> of(graph::ValueId value);
    // All nodes that compute a known value from buffers and numbers.
    std::set<graph::NodeId> producers_of(graph::ValueId value) const;

  private:
    // `keep`: caches the value however large it is.
    std::optional<KnownTensor> find(graph::ValueId value, bool keep);
    std::optional<KnownTensor> compute(graph::ValueId value);
    std::optional<KnownTensor> load(graph::ValueId value) const;
    std::optional<std::vector<KnownTensor>> find_indices(const graph::Node& node);

    const graph::Graph& graph_;
    // The contents of buffers that the module does not write to.
    std::map<graph::ValueId, const graph::Weight*> weights_;
    std::set<graph::ValueId> shared_;  // values that are read more than once
    int depth_ = 0;                    // of the recursion in find()
    // Cached results of find().
    std::map<graph::ValueId, std::optional<KnownTensor>> known_;
};

}  // namespace fact::match

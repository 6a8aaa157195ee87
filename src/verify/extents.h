// Which dimensions of a graph's values have extents that are proportional to one another.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/halves.h"

namespace fact::verify {

// One class for each set of dimensions whose extents can only change together.
class ExtentClasses {
  public:
    explicit ExtentClasses(const graph::Graph& graph);

    int size() const { return static_cast<int>(parent_.size()); }
    // The class of a dimension, a number in [0, size()).
    int of(graph::ValueId value, int dim) const { return find(first_[index(value)] + dim); }
    // Whether the extents of the class must not change.
    bool fixed(int extent_class) const { return fixed_[extent_class]; }
    void fix(graph::ValueId value, int dim) { fixed_[of(value, dim)] = true; }
    // Puts two dimensions into the same class.
    void tie(graph::ValueId a, int a_dim, graph::ValueId b, int b_dim);

  private:
    void visit(const graph::Node& node);
    void visit_pointwise(const graph::Node& node, const std::vector<graph::ValueId>& inputs);
    void visit_view(const graph::Node& node);
    void visit_slice(const graph::Node& node);
    void visit_joined(const graph::Node& node);
    void visit_lookup(const graph::Node& node);
    void visit_selected(const graph::Node& node);
    void visit_gathered(const graph::Node& node);
    void visit_differences(const graph::Node& node);
    // These return false, without doing anything, if the node is of another kind.
    bool visit_part(const graph::Node& node);
    bool visit_halving(const graph::Node& node);
    bool visit_split(const graph::Node& node);
    bool visit_rowwise(const graph::Node& node);
    bool visit_loss(const graph::Node& node);
    bool visit_cross_entropy(const graph::Node& node);
    bool visit_attention(const graph::Node& node);
    bool visit_einsum(const graph::Node& node);
    bool visit_convolution(const graph::Node& node);
    bool visit_windows(const graph::Node& node);
    void visit_product(const graph::Node& node, graph::ValueId a, graph::ValueId b, bool b_is_nk);
    void fix_all(const graph::Node& node);
    int find(int element) const;
    int rank(graph::ValueId value) const;
    // The dimension, counted from the front, that the node's argument `dim` names; without that
    // argument, `default_dim`. Negative numbers count from the back.
    static int along(const graph::Node& node, int rank, std::int64_t default_dim = 0);
    std::int64_t extent(graph::ValueId value, int dim) const;

    const graph::Graph& graph_;
    // Disjoint sets with one element for each dimension of each value.
    std::vector<int> first_;   // for each value, the element of its first dimension
    std::vector<int> parent_;  // for each element; the root of a set is its own parent
    std::vector<bool> fixed_;  // for the root of each set
};

// The halving that a node belongs to, if the graph takes both halves: then their length is
// proportional to the whole. A slice whose other half is not taken may just be the first few
// elements. nullopt for x[0] and x[1].
std::optional<graph::Halving> both_halves(const graph::Graph& graph, const graph::Node& node);

// The operands of a product of matrices.
struct ProductOperands {
    graph::ValueId a, b;
    bool b_is_nk = false;  // b is [N, K], like linear's weight, and not [K, N]
    std::optional<graph::ValueId> addend;
};
// nullopt if the node is not such a product.
std::optional<ProductOperands> product_operands(const graph::Node& node);
// Whether it is a convolution of torch's, with windows or of one tap, not transposed.
bool is_convolution(const graph::Node& node);

}  // namespace fact::verify

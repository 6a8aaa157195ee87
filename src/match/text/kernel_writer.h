// Writes a region as a kernel, node by node. Only for write_kernel.cpp, write_product.cpp,
// write_halves.cpp, write_rows.cpp, write_windows.cpp and write_phases.cpp, which define its
// functions.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/halves.h"
#include "graph/phases.h"
#include "match/axes/forms.h"
#include "match/operators/pointwise.h"
#include "match/text/fold_writer.h"
#include "match/text/naming.h"
#include "match/text/write_kernel.h"

namespace fact::match {

using Use = std::pair<graph::NodeId, std::string>;  // an argument of a node

// The distinct side operands: uses of the same tensor in the same shape share one parameter. Sets
// `number` to the place of each use's operand in the returned list.
std::vector<PlacedTensor> number_sides(const Region& region, std::map<Use, std::size_t>& number);

class KernelWriter {
  public:
    KernelWriter(const graph::Graph& graph, const Facts& facts, const Region& region,
                 const Layout& layout, bool allow_tf32);
    Result<WrittenKernel> write();

  private:
    void add_params();
    void add_param(const std::string& name, const KernelTensor& tensor);
    std::string name_side(std::size_t side);
    std::string unique(const std::string& name) const;
    std::uint32_t param_of(graph::NodeId node, const std::string& argument) const;
    // Loads a parameter and permutes it to the layout's order of dimensions.
    ir::ExprId load(std::uint32_t param);
    // Sets an expression's part in the kernel's name.
    void tag(ir::ExprId expr, std::string text);

    // The products, in write_product.cpp.
    void start_fold();
    bool has_two_products() const { return region_.second || region_.anchor.cut; }
    // Whether the node is one that cuts the product's result in two.
    bool is_cut(graph::NodeId node) const;
    void write_product();
    void write_second_linear(graph::NodeId node);
    void write_cut(const Anchor::Cut& cut);
    ir::ExprId multiply(std::uint32_t a, std::uint32_t b, const std::string& name);
    ir::ExprId scaled(ir::ExprId x, double factor);
    ir::ExprId add_to(ir::ExprId x, ir::ExprId addend, double factor);

    // Both return why the node cannot be written, or "".
    std::string write_node(graph::NodeId node);
    std::string write_rowwise(graph::NodeId node);
    // Windows, in write_windows.cpp.
    std::string write_windows(graph::NodeId node);
    struct OpenWindows {
        ir::ExprId x{};
        std::vector<ir::DimId> places, taps;  // `taps`: those that are left to be reduced
    };
    OpenWindows open_windows(const AxisWindows& windows, ir::ExprId x,
                             const std::vector<ir::DimId>& of, graph::WindowKind kind);
    ir::DimId taps_dim(const AxisWindow& window);
    ir::DimId fresh_dim(const std::string& name, std::optional<std::int64_t> extent);
    // `x` reduced over dimensions of one element.
    ir::ExprId without(ir::ExprId x, const std::vector<ir::DimId>& dims);
    std::vector<ir::DimId> dims_of(const std::vector<Axis>& axes) const;
    std::vector<ir::DimId> sorted_with_taps(std::vector<ir::DimId> dims,
                                            const std::vector<ir::DimId>& taps) const;
    bool has_channels_last(const AxisWindows& windows) const;
    std::optional<ir::ExprId> convolved(const AxisWindows& windows, const OpenWindows& open,
                                        ir::ExprId weight);
    // Transposed convolutions, in write_phases.cpp.
    struct PhaseDims {                        // of one dimension
        ir::DimId of{}, weight_taps{};        // those of the source and of the weight
        ir::DimId apart{};                    // a tap of the weight and the zeros after it
        ir::DimId places{}, taps{}, phase{};  // those of the product; `phase` if there are several
        ir::DimId result{};
        graph::Phases rule;
        // Whether the source, and the weight, are seen through windows, or have these dimensions.
        bool windowed() const {
            return rule.phases == 1 || rule.taps > 1 || rule.before > 0 || rule.after > 0;
        }
        bool weight_windowed() const {
            return rule.phases > 1 && (rule.taps > 1 || rule.weight_before > 0 ||
                                       rule.weight_after > 0 || rule.apart > 1);
        }
        bool cropped() const { return rule.skipped > 0 || rule.dropped > 0; }
    };
    // Makes the dimensions of transposed convolutions, before any tensor has them. Returns why that
    // is impossible, or "".
    std::string add_phases();
    void set_rules(const PhaseDims& dims);
    // Of a node's windows; none if it is no transposed convolution.
    std::vector<PhaseDims> phases_of(const AxisWindows& windows) const;
    std::vector<ir::DimId> phase_dims(const AxisWindows& windows) const;
    OpenWindows open_phases(const AxisWindows& windows, ir::ExprId x);
    ir::ExprId filled_weight(const AxisWindows& windows, ir::ExprId weight);
    ir::ExprId phased_weight(const AxisWindows& windows, ir::ExprId weight);
    ir::ExprId joined_phases(const AxisWindows& windows, ir::ExprId x);
    void write_pointwise(graph::NodeId node, const PointwiseOp& op);
    void keep_bits();
    void write_outputs();
    ir::ExprId before_column(std::int64_t column, ir::ExprId value);

    using Operands = std::map<std::string, ir::ExprId>;  // by argument
    // The node's operands; of a half, the expression at `place`, which is 0 or 1.
    Operands operands_of(graph::NodeId node, int place);
    ir::ExprId operand(graph::NodeId node, const std::string& argument, graph::ValueId value);
    void align(Operands& operands);
    ir::ExprId build(const graph::Node& node, const PointwiseOp& op, const Operands& operands);

    // Halves, in write_halves.cpp.
    ir::DimId halved_dim(graph::NodeId node, ir::ExprId& x);
    void write_half(graph::NodeId node, const PointwiseOp* op);
    void write_halving(graph::NodeId node, const graph::Halving& halving);
    void write_joining(graph::NodeId node, const graph::Joining& joining);
    void name_rotary();

    const graph::Graph& graph_;
    const Facts& facts_;
    const Region& region_;
    const Layout& layout_;
    bool allow_tf32_;
    ir::Kernel kernel_;
    ir::Builder build_;
    std::map<std::string, std::int64_t> extents_;
    std::optional<Forms> forms_;
    std::optional<FoldWriter> fold_;
    MatrixDims matrix_;
    std::map<Axis, PhaseDims> phases_;            // by the axis of the places
    std::map<Use, std::size_t> side_of_;          // from number_sides()
    std::size_t num_operands_ = 2;                // parameters before the side operands
    std::map<std::uint32_t, ir::ExprId> loaded_;  // by parameter
    using Halves = std::array<ir::ExprId, 2>;     // at each of the two places
    std::map<graph::ValueId, ir::ExprId> values_;
    std::map<graph::ValueId, Halves> halves_;
    bool joins_ = false;                // whether a node joins halves
    std::set<graph::ValueId> derived_;  // values computed from the product
    std::vector<std::string> tags_;     // by expression: its part in the kernel's name
    std::vector<graph::Binding> params_, results_;
};

}  // namespace fact::match

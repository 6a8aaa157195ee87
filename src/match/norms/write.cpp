#include "match/norms/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "match/axes/forms.h"
#include "match/operators/pointwise.h"
#include "match/operators/rowwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;
using ir::ExprId;

namespace {

// Writes the kernel of a region. The dimensions before the last one are merged as far as the
// strides of all tensors allow.
class NormWriter {
  public:
    NormWriter(const Graph& graph, const Facts& facts, const NormRegion& region, NodeId norm)
        : graph_(graph), facts_(facts), region_(region), norm_(norm), build_(kernel_) {}

    Result<WrittenKernel> write() {
        if (std::string reason = find_inputs(); !reason.empty()) return Error{reason, ""};
        merge_rows();
        if (layout_.atoms.empty()) return Error{"it is a single row", ""};
        layout_.m = {static_cast<int>(layout_.atoms.size()) - 1};
        layout_.n = {static_cast<int>(layout_.atoms.size())};
        layout_.atoms.push_back({"N", {last_axis()}, region_.sizes.back()});
        forms_.emplace(kernel_, layout_);
        for (const Atom& atom : layout_.atoms) extents_[atom.name] = atom.extent;

        for (const ValueId value : inputs_) {
            auto tensor = kernel_tensor(value);
            if (!tensor) return tensor.error();
            add_param(*tensor);
        }
        for (const NodeId id : region_.nodes)
            if (find_rowwise(graph_[id]) && !has_real_rows(graph_[id]))
                return Error{"each of its rows is a single number", ""};
        for (const NodeId id : region_.nodes) write_node(graph_[id]);
        for (const ValueId value : region_.outputs)
            if (std::string reason = write_output(value); !reason.empty()) return Error{reason, ""};
        kernel_.name = name();
        ir::drop_dead(kernel_);
        if (std::string wrong = ir::verify(kernel_); !wrong.empty())
            throw InternalError(
                fmt::format("{} gives a bad kernel: {}", graph_[norm_].name, wrong));
        return WrittenKernel{std::move(kernel_), std::move(extents_), std::move(params_),
                             std::move(results_)};
    }

  private:
    const TensorType& type(ValueId value) const { return *graph_[value].type; }
    int last_axis() const { return static_cast<int>(region_.sizes.size()) - 1; }

    // The dimension of the normalised tensor (an axis) that a tensor's dimension lines up with:
    // from the right, as in broadcasting.
    int axis(ValueId value, std::size_t dim) const {
        return static_cast<int>(region_.sizes.size() + dim - type(value).sizes.size());
    }
    // Whether the tensor has one element along the dimension, or repeats one.
    bool repeats(ValueId value, std::size_t dim) const {
        return type(value).sizes[dim] == 1 || type(value).strides[dim] == 0;
    }

    // False if each row that the node reads is one element, or repeats one.
    bool has_real_rows(const Node& node) const {
        const auto* source = std::get_if<ValueId>(&node.inputs.front().value);
        return source && !repeats(*source, type(*source).sizes.size() - 1);
    }

    // Lists the inputs. Returns why a kernel cannot read them or write the outputs, or "".
    std::string find_inputs() {
        for (const NodeId id : region_.nodes)
            for (const ValueId value : graph::tensor_inputs(graph_[id])) {
                const auto producer = graph_[value].producer;
                if (producer && std::ranges::binary_search(region_.nodes, *producer)) continue;
                if (std::ranges::find(inputs_, value) == inputs_.end()) inputs_.push_back(value);
            }
        for (const ValueId value : inputs_) {
            if (std::string reason = unsupported_type(graph_, value, false); !reason.empty())
                return reason;
            const auto& sizes = type(value).sizes;
            if (sizes.size() > region_.sizes.size())
                return fmt::format("{} has more dimensions than the normalised tensor",
                                   graph_[value].name);
            for (std::size_t i = 0; i < sizes.size(); ++i)
                if (sizes[i] != 1 &&
                    sizes[i] != region_.sizes[static_cast<std::size_t>(axis(value, i))])
                    return fmt::format("{} is larger than the normalised tensor",
                                       graph_[value].name);
        }
        for (const ValueId value : region_.outputs) {
            const DType dtype = type(value).dtype;
            if (dtype != DType::bf16 && dtype != DType::f16 && dtype != DType::f32)
                return fmt::format("a kernel cannot have a result of type {}", info(dtype).name);
        }
        return "";
    }

    // The tensor's dimension for an axis; nullopt if the tensor is broadcast along it.
    std::optional<std::size_t> dim_of(ValueId value, int wanted) const {
        for (std::size_t i = 0; i < type(value).sizes.size(); ++i)
            if (axis(value, i) == wanted && !repeats(value, i)) return i;
        return std::nullopt;
    }

    // Whether two neighbouring axes can be one dimension of every tensor.
    bool merges(int outer, int inner) const {
        const auto fits = [&](ValueId value) {
            const auto a = dim_of(value, outer), b = dim_of(value, inner);
            if (!a || !b) return !a && !b;
            const TensorType& own = type(value);
            return own.strides[*a] == own.strides[*b] * own.sizes[*b];
        };
        return std::ranges::all_of(inputs_, fits) && std::ranges::all_of(region_.outputs, fits);
    }

    // Makes an atom of each run of neighbouring dimensions before the last one that can be merged.
    void merge_rows() {
        std::vector<std::vector<int>> groups;
        for (int i = 0; i < last_axis(); ++i) {
            if (region_.sizes[static_cast<std::size_t>(i)] == 1) continue;
            if (!groups.empty() && merges(groups.back().back(), i))
                groups.back().push_back(i);
            else
                groups.push_back({i});
        }
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const std::size_t from_last = groups.size() - 1 - g;
            Atom atom{from_last == 0 ? "M" : fmt::format("B{}", from_last), groups[g], 1};
            for (const int i : groups[g]) atom.extent *= region_.sizes[static_cast<std::size_t>(i)];
            layout_.atoms.push_back(std::move(atom));
        }
    }

    // The tensor with its dimensions in memory order.
    Result<KernelTensor> kernel_tensor(ValueId value) const {
        const TensorType& own = type(value);
        KernelTensor tensor{value, {}, {}, 16};
        std::vector<int> atoms;
        const auto dims_of = [&](int atom) {
            std::vector<int> dims;
            for (const int merged : layout_.atoms[static_cast<std::size_t>(atom)].axes)
                if (const auto dim = dim_of(value, merged)) dims.push_back(static_cast<int>(*dim));
            return dims;
        };
        const auto stride = [&](int atom) {
            return own.strides[static_cast<std::size_t>(dims_of(atom).back())];
        };
        for (int atom = 0; atom < static_cast<int>(layout_.atoms.size()); ++atom)
            if (!dims_of(atom).empty()) atoms.push_back(atom);
        std::ranges::stable_sort(atoms, std::ranges::greater(), stride);
        if (!atoms.empty() && stride(atoms.back()) != 1)
            return Error{fmt::format("{} has no contiguous dimension", graph_[value].name), ""};
        if (dim_of(value, last_axis()) && atoms.back() != layout_.n.front())
            return Error{fmt::format("the rows of {} are not contiguous", graph_[value].name), ""};
        std::int64_t common_divisor = own.offset;  // of its start and all strides, in elements
        for (const int atom : atoms) {
            tensor.order.push_back({atom});
            tensor.dims.push_back(dims_of(atom));
            if (atom != atoms.back()) common_divisor = std::gcd(common_divisor, stride(atom));
        }
        if (common_divisor != 0)
            tensor.alignment = static_cast<int>(
                std::gcd(common_divisor * info(own.dtype).bytes, std::int64_t{16}));
        return tensor;
    }

    void add_param(const KernelTensor& tensor) {
        // w: a vector that all rows share; x: rows; c: a number, or one for each row.
        const bool is_vector = tensor.order.size() == 1 && tensor.order.front() == layout_.n;
        const std::string stem = is_vector ? "w" : tensor.order.size() > 1 ? "x" : "c";
        std::string name = stem;
        for (int i = 2;
             std::ranges::find(kernel_.params, name, &ir::Tensor::name) != kernel_.params.end();
             ++i)
            name = fmt::format("{}{}", stem, i);
        kernel_.params.push_back(
            {name, {type(tensor.value).dtype, forms_->dims(tensor.order)}, {}});
        params_.push_back(match::bind(graph_, facts_, name, tensor));
        const ExprId loaded = build_.param(static_cast<std::uint32_t>(kernel_.params.size() - 1));
        values_[tensor.value] = build_.permute(loaded, forms_->sorted(kernel_[loaded].type.dims));
    }

    void write_node(const Node& node) {
        std::map<std::string, ExprId> operands;
        std::vector<ExprId> aligned;
        for (const auto& argument : node.inputs)
            if (const auto* value = std::get_if<ValueId>(&argument.value))
                operands[argument.name] = values_.at(*value);
        Translation translation(
            graph_, node, kernel_, forms_->aligner(),
            [&](const std::string& argument, ValueId) { return operands.at(argument); });
        if (const RowwiseOp* op = find_rowwise(node)) {
            const ValueId source = std::get<ValueId>(node.inputs.front().value);
            const ExprId x = round_as_torch(source);
            const std::vector<std::vector<ir::DimId>> along{{forms_->dim(layout_.n)}};
            values_[node.outputs.front()] = op->build(translation, x, along).front();
            return;
        }
        for (const auto& [name, x] : operands) aligned.push_back(x);
        forms_->align(aligned);
        auto next = aligned.begin();
        for (auto& [name, x] : operands) x = *next++;
        values_[node.outputs.front()] = find_pointwise(node)->build(translation);
    }

    // Rounds a value as torch stores it, in values_ too: the nodes written later read it rounded.
    ExprId round_as_torch(ValueId value) {
        const DType dtype = type(value).dtype;
        ExprId& x = values_.at(value);
        const bool is_input = std::ranges::find(inputs_, value) != inputs_.end();
        const bool is_rounded =
            std::holds_alternative<ir::Cast>(kernel_[x].node) && kernel_[x].type.dtype == dtype;
        if (!is_input && !is_rounded && dtype != DType::f32 && info(dtype).floating)
            x = build_.cast(dtype, x);
        return x;
    }

    std::string write_output(ValueId value) {
        const auto tensor = kernel_tensor(value);
        if (!tensor) return tensor.error().message;
        const bool is_last = value == region_.outputs.back();
        const std::string name = is_last ? "y" : "s";  // at most two: the residual sum, y
        ExprId result = values_.at(value);
        if (const auto* cast = std::get_if<ir::Cast>(&kernel_[result].node);
            cast && is_last && kernel_[result].type.dtype == type(value).dtype &&
            info(kernel_[cast->x].type.dtype).floating)
            result = cast->x;  // storing rounds anyway
        const ExprId stored = forms_->arrange(result, tensor->order);
        kernel_.outputs.push_back(
            {{name, {type(value).dtype, forms_->dims(tensor->order)}, {}}, stored});
        results_.push_back(match::bind(graph_, facts_, name, *tensor));
        return "";
    }

    std::string name() const {
        const RowwiseOp* op = find_rowwise(graph_[norm_]);
        // A norm that is spelled out is found by its mean.
        const std::string stem =
            op->kind == RowwiseKind::mean ? "norm_rows" : fmt::format("{}_rows", op->tag);
        return region_.outputs.size() > 1 ? "add_" + stem : stem;
    }

    const Graph& graph_;
    const Facts& facts_;
    const NormRegion& region_;
    NodeId norm_;
    ir::Kernel kernel_;
    ir::Builder build_;
    Layout layout_;
    std::optional<Forms> forms_;
    std::vector<ValueId> inputs_;
    std::map<ValueId, ExprId> values_;
    std::map<std::string, std::int64_t> extents_;
    std::vector<graph::Binding> params_, results_;
};

}  // namespace

Result<WrittenKernel> write_norm(const Graph& graph, const Facts& facts, const NormRegion& region,
                                 NodeId norm) {
    return NormWriter(graph, facts, region, norm).write();
}

}  // namespace fact::match

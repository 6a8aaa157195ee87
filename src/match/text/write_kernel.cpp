#include "match/text/write_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/windows.h"
#include "match/formulas/activations.h"
#include "match/formulas/halves.h"
#include "match/operators/rowwise.h"
#include "match/text/kernel_writer.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ir::ExprId;

std::vector<PlacedTensor> number_sides(const Region& region, std::map<Use, std::size_t>& number) {
    std::vector<PlacedTensor> sides;
    for (const auto& side : region.sides) {
        const PlacedTensor placed{side.value, side.shape, side.half};
        const auto at = std::ranges::find(sides, placed);
        number[{side.node, side.argument}] = static_cast<std::size_t>(at - sides.begin());
        if (at == sides.end()) sides.push_back(placed);
    }
    return sides;
}

KernelWriter::KernelWriter(const Graph& graph, const Facts& facts, const Region& region,
                           const Layout& layout, bool allow_tf32)
    : graph_(graph),
      facts_(facts),
      region_(region),
      layout_(layout),
      allow_tf32_(allow_tf32),
      build_(kernel_) {}

Result<WrittenKernel> KernelWriter::write() {
    number_sides(region_, side_of_);
    for (const Atom& atom : layout_.atoms) extents_[atom.name] = atom.extent;
    forms_.emplace(kernel_, layout_, region_.anchor.space.has_halves());
    if (std::string reason = add_phases(); !reason.empty()) return Error{reason, ""};
    matrix_ = {forms_->dim(layout_.m.empty() ? layout_.n : layout_.m), forms_->dim(layout_.n)};
    add_params();
    const bool has_product = region_.anchor.node != kNoProduct;
    if (has_two_products() && layout_.swapped)
        return Error{"two products of one matrix cannot be computed transposed", ""};
    if (region_.fold && layout_.swapped)
        return Error{"a norm cannot be folded into a product that is computed transposed", ""};
    if (has_product)
        write_product();
    else
        values_[region_.anchor.result] = load(0);
    derived_.insert(region_.anchor.result);
    for (const NodeId id : region_.nodes)
        if (id != region_.anchor.node && !is_cut(id))
            if (std::string reason = write_node(id); !reason.empty()) return Error{reason, ""};
    if (!has_product) keep_bits();
    write_outputs();
    recognise_activations(kernel_, tags_);
    if (joins_) name_rotary();
    std::string base = region_.siblings ? "linears" : std::string(name(region_.anchor.form));
    if (!has_product) base = region_.anchor.rule;
    if (region_.fold) base = (region_.fold->form.centered ? "layer_norm_" : "rms_norm_") + base;
    kernel_.name = joins_ && !has_product ? region_.anchor.rule : kernel_name(base, kernel_, tags_);
    if (joins_) merge_equal(kernel_);
    ir::drop_dead(kernel_);
    if (std::string wrong = ir::verify(kernel_); !wrong.empty())
        throw InternalError(fmt::format("the region of {} gives a bad kernel: {}",
                                        graph_[region_.anchor.result].name, wrong));
    return WrittenKernel{std::move(kernel_), std::move(extents_), std::move(params_),
                         std::move(results_)};
}

void KernelWriter::add_params() {
    const bool has_product = region_.anchor.node != kNoProduct;
    const bool linear = region_.anchor.form == graph::ProductForm::linear;
    add_param(linear || !has_product ? "x" : "a", layout_.swapped ? layout_.b : layout_.a);
    if (has_product) add_param(linear ? "w" : "b", layout_.swapped ? layout_.a : layout_.b);
    num_operands_ = kernel_.params.size();
    for (std::size_t i = 0; i < layout_.sides.size(); ++i)
        add_param(name_side(i), layout_.sides[i]);
}

void KernelWriter::add_param(const std::string& name, const KernelTensor& tensor) {
    kernel_.params.push_back(
        {name, {graph_[tensor.value].type->dtype, forms_->dims(tensor.order)}, {}});
    params_.push_back(bind(graph_, facts_, name, tensor));
}

std::string KernelWriter::name_side(std::size_t side) {
    std::string name = "side";
    for (const auto& [use, at] : side_of_) {
        if (at != side) continue;
        const Node& node = graph_[use.first];
        const auto* op = find_pointwise(node);
        const bool weight = region_.second == use.first && use.second == "weight";
        const bool taps = graph::window_kind(node).has_value();
        name = weight || use.second == kSecondWeight ? "w"
               : taps                                ? use.second.substr(0, 1)
               : find_rowwise(node)                  ? use.second
                                                     : side_name(op ? op->tag : "add", use.second,
                                                graph_[layout_.sides[side].value].type->dtype,
                                                matrix_, forms_->dims(layout_.sides[side].order));
        break;
    }
    return unique(name);
}

std::string KernelWriter::unique(const std::string& name) const {
    std::string found = name;
    for (int i = 2;
         std::ranges::find(kernel_.params, found, &ir::Tensor::name) != kernel_.params.end(); ++i)
        found = fmt::format("{}{}", name, i);
    return found;
}

std::uint32_t KernelWriter::param_of(NodeId node, const std::string& argument) const {
    return static_cast<std::uint32_t>(num_operands_ + side_of_.at({node, argument}));
}

ExprId KernelWriter::load(std::uint32_t param) {
    auto [at, fresh] = loaded_.try_emplace(param);
    if (fresh)
        at->second =
            build_.permute(build_.param(param), forms_->sorted(kernel_.params[param].type.dims));
    return at->second;
}

void KernelWriter::tag(ExprId expr, std::string text) {
    tags_.resize(kernel_.exprs.size());
    tags_[ir::index(expr)] = std::move(text);
}

std::string KernelWriter::write_node(NodeId id) {
    const Node& node = graph_[id];
    if (region_.second == id) {
        write_second_linear(id);
        return "";
    }
    const ValueId output = node.outputs.front();
    if (!region_.anchor.space.contains(output)) return "";  // a permute of an operand
    const auto reads = graph::tensor_inputs(node);
    if (std::ranges::any_of(reads, [&](ValueId value) { return derived_.contains(value); }))
        derived_.insert(output);
    if (region_.anchor.space.windows().contains(id)) return write_windows(id);
    if (find_rowwise(node)) return write_rowwise(id);
    const PointwiseOp* op = find_pointwise(node);
    if (const auto halving = read_halving(graph_, node))
        write_halving(id, *halving);
    else if (const auto joining = read_joining(graph_, node))
        write_joining(id, *joining);
    else if (region_.anchor.space.halved(output))
        write_half(id, op);
    else if (op)
        write_pointwise(id, *op);
    else
        values_[output] = operand(id, node.inputs.front().name, reads.front());
    return "";
}

void KernelWriter::write_pointwise(NodeId id, const PointwiseOp& op) {
    const Node& node = graph_[id];
    const ValueId output = node.outputs.front();
    std::string tag_text(op.tag);
    auto operands = operands_of(id, 0);
    for (const auto& argument : node.inputs) {
        const auto* value = std::get_if<ValueId>(&argument.value);
        if (!value) {
            if (argument.name == "other") tag_text = combination_tag(op.tag, matrix_, {});
        } else if (!derived_.contains(*value)) {
            const ExprId x = operands.at(argument.name);
            tag_text = combination_tag(op.tag, matrix_, kernel_[x].type.dims);
        }
    }
    align(operands);
    const std::size_t before = kernel_.exprs.size();
    const ExprId result = build(node, op, operands);
    values_[output] = result;
    // An operator that changes nothing, such as a clone, gives back its operand, which keeps its
    // tag.
    if (derived_.contains(output) && ir::index(result) >= before) tag(result, std::move(tag_text));
}

KernelWriter::Operands KernelWriter::operands_of(NodeId id, int place) {
    Operands operands;
    for (const auto& argument : graph_[id].inputs) {
        const auto* value = std::get_if<ValueId>(&argument.value);
        if (!value) continue;
        const auto half = halves_.find(*value);
        operands[argument.name] = half != halves_.end()
                                      ? half->second[static_cast<std::size_t>(place)]
                                      : operand(id, argument.name, *value);
    }
    return operands;
}

ExprId KernelWriter::operand(NodeId node, const std::string& argument, ValueId value) {
    const auto known = values_.find(value);
    return known != values_.end() ? known->second : load(param_of(node, argument));
}

void KernelWriter::align(Operands& operands) {
    std::vector<ExprId> aligned;
    for (const auto& [name, x] : operands) aligned.push_back(x);
    forms_->align(aligned);
    auto next = aligned.begin();
    for (auto& [name, x] : operands) x = *next++;
}

ExprId KernelWriter::build(const Node& node, const PointwiseOp& op, const Operands& operands) {
    Translation translation(
        graph_, node, kernel_, forms_->aligner(),
        [&](const std::string& argument, ValueId) { return operands.at(argument); });
    return op.build(translation);
}

// Without a product nothing has to be as small in memory as torch's values: casts to narrower types
// in the middle only lose bits.
void KernelWriter::keep_bits() {
    const auto narrows = [&](const ir::Expr& expr) {
        const auto* cast = std::get_if<ir::Cast>(&expr.node);
        return cast && (expr.type.dtype == DType::bf16 || expr.type.dtype == DType::f16) &&
               kernel_[cast->x].type.dtype == DType::f32;
    };
    // Views have the type of their operand, and products read it from memory.
    const auto computes = [](const ir::Node& node) {
        return std::holds_alternative<ir::Unary>(node) ||
               std::holds_alternative<ir::Binary>(node) ||
               std::holds_alternative<ir::Select>(node) || std::holds_alternative<ir::Cast>(node) ||
               std::holds_alternative<ir::Reduce>(node) || std::holds_alternative<ir::Scan>(node);
    };
    for (ir::Expr& expr : kernel_.exprs)
        if (computes(expr.node))
            ir::for_each_operand(expr.node, [&](ExprId& x) {
                while (narrows(kernel_[x])) x = std::get<ir::Cast>(kernel_[x].node).x;
            });
}

void KernelWriter::write_outputs() {
    for (std::size_t i = 0; i < region_.outputs.size(); ++i) {
        const KernelTensor& tensor = layout_.results[i];
        const DType dtype = graph_[tensor.value].type->dtype;
        ExprId value = values_.at(tensor.value);
        // Storing rounds anyway.
        if (const auto* cast = std::get_if<ir::Cast>(&kernel_[value].node))
            if (kernel_[value].type.dtype == dtype && info(kernel_[cast->x].type.dtype).floating)
                value = cast->x;
        if (region_.siblings && region_.siblings->plain_from)
            value = before_column(*region_.siblings->plain_from, value);
        const ExprId stored = forms_->arrange(value, tensor.order);
        if (std::holds_alternative<ir::Permute>(kernel_[stored].node) && stored != value)
            tag(stored, "permuted");
        tags_.resize(kernel_.exprs.size());
        const std::string name = i == 0 ? "y" : fmt::format("y{}", i + 1);
        kernel_.outputs.push_back({{name, {dtype, forms_->dims(tensor.order)}, {}}, stored});
        results_.push_back(bind(graph_, facts_, name, tensor));
    }
}

// `value` in the columns before `column`, the product itself in the others.
ExprId KernelWriter::before_column(std::int64_t column, ExprId value) {
    std::vector<ExprId> both{value, values_.at(region_.anchor.result)};
    forms_->align(both);
    const auto& dims = kernel_[both[0]].type.dims;
    ir::DimId indexed = matrix_.n;
    if (std::ranges::find(dims, indexed) == dims.end()) {  // the columns are split into heads
        const Atoms heads{layout_.n.front()};
        indexed = forms_->dim(heads);
        column = column * layout_.extent(heads) / layout_.extent(layout_.n);
    }
    const ExprId limit = build_.literal(static_cast<double>(column), DType::i32);
    const ExprId before = build_.binary(ir::BinaryOp::lt, build_.index(indexed), limit);
    return build_.select(before, both[0], both[1]);
}

graph::Binding bind(const Graph& graph, const Facts& facts, const std::string& name,
                    const KernelTensor& tensor) {
    return {name,
            graph[tensor.value].name,
            tensor.dims,
            static_cast<bool>(facts.constant[graph::index(tensor.value)]),
            tensor.alignment,
            tensor.half};
}

Result<Layout> layout_of(const Graph& graph, const Region& region) {
    std::map<Use, std::size_t> ignored;
    RegionTensors tensors{region.a, region.b, {}, number_sides(region, ignored)};
    for (const ValueId value : region.outputs)
        tensors.results.push_back({value, region.anchor.space.shape(value)});
    auto layout = plan_layout(graph, region.anchor.space, region.anchor.k, tensors);
    if (!layout) return layout;
    if (region.anchor.node != kNoProduct) {
        std::set<int> read_atoms;
        const auto add = [&](const KernelTensor& tensor) {
            for (const Atoms& dim : tensor.order) read_atoms.insert(dim.begin(), dim.end());
        };
        add(layout->a), add(layout->b);
        for (const KernelTensor& side : layout->sides) add(side);
        for (const KernelTensor& result : layout->results)
            for (const Atoms& dim : result.order)
                for (const int atom : dim)
                    if (!read_atoms.contains(atom))
                        return Error{"its operands are repeated along a dimension of the result",
                                     ""};
    }
    if (!region.siblings) return layout;
    // The outermost part of the columns (heads, or single columns) grows to cover all siblings.
    Atom& outer = layout->atoms[static_cast<std::size_t>(layout->n.front())];
    const std::int64_t inner = layout->extent(layout->n) / outer.extent;
    const auto& [columns, plain_from] = *region.siblings;
    if (region.anchor.space.is_halved(outer.axes.front()))
        return Error{"linears of one input are joined only if each head has its own halves", ""};
    if (columns % inner != 0 || plain_from.value_or(0) % inner != 0)
        return Error{"linears of one input are joined only if all have heads of one size", ""};
    outer.extent = columns / inner;
    return layout;
}

Result<WrittenKernel> write_kernel(const Graph& graph, const Facts& facts, const Region& region,
                                   const Layout& layout, bool allow_tf32) {
    return KernelWriter(graph, facts, region, layout, allow_tf32).write();
}

}  // namespace fact::match

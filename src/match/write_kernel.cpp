#include "match/write_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "match/forms.h"
#include "match/join.h"
#include "match/naming.h"
#include "match/peephole.h"
#include "match/pointwise.h"
#include "match/rowwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ir::BinaryOp;
using ir::ExprId;

namespace {

using Use = std::pair<NodeId, std::string>;  // an argument of a node

// Sides that are the same tensor, seen the same way, are one parameter.
std::vector<Placed> number_sides(const Region& region, std::map<Use, std::size_t>& number) {
    std::vector<Placed> sides;
    for (const auto& side : region.sides) {
        const Placed placed{side.value, side.shape};
        const auto at = std::ranges::find(sides, placed);
        number[{side.node, side.argument}] = static_cast<std::size_t>(at - sides.begin());
        if (at == sides.end()) sides.push_back(placed);
    }
    return sides;
}

class Writer {
  public:
    Writer(const Graph& graph, const Facts& facts, const Region& region, const Layout& layout,
           bool allow_tf32)
        : graph_(graph),
          facts_(facts),
          region_(region),
          layout_(layout),
          allow_tf32_(allow_tf32),
          build_(kernel_) {}

    Result<Written> write() {
        number_sides(region_, side_of_);
        for (const Atom& atom : layout_.atoms) extents_[atom.name] = atom.extent;
        forms_.emplace(kernel_, layout_, region_.anchor.space.has_halves());
        matrix_ = {forms_->dim(layout_.m), forms_->dim(layout_.n)};

        const bool product = region_.anchor.node != kNoProduct;
        const bool linear = region_.anchor.rule == "linear";
        const Laid& first = layout_.swapped ? layout_.b : layout_.a;
        const Laid& second = layout_.swapped ? layout_.a : layout_.b;
        add_param(linear || !product ? "x" : "a", first);
        if (product) add_param(linear ? "w" : "b", second);
        num_operands_ = kernel_.params.size();
        for (std::size_t i = 0; i < layout_.sides.size(); ++i)
            add_param(name_side(i), layout_.sides[i]);

        if (region_.second && layout_.swapped)
            return Error{"two products of one matrix are not computed the other way round", ""};
        if (product)
            write_product();
        else
            values_[region_.anchor.result] = load(0);
        derived_.insert(region_.anchor.result);
        for (const NodeId id : region_.nodes)
            if (id != region_.anchor.node)
                if (std::string reason = write_node(id); !reason.empty()) return Error{reason, ""};
        write_outputs();
        recognise_activations(kernel_, tags_);
        if (joins_) name_rotary();
        const std::string& rule = region_.anchor.rule;
        kernel_.name = product
                           ? kernel_name(linear || rule == "conv" ? rule : "matmul", kernel_, tags_)
                           : rule;
        if (joins_) merge_equal(kernel_);
        ir::drop_dead(kernel_);
        if (std::string wrong = ir::verify(kernel_); !wrong.empty())
            throw InternalError(fmt::format("region of {} gives a bad kernel: {}",
                                            graph_[region_.anchor.result].name, wrong));
        return Written{std::move(kernel_), std::move(extents_), std::move(params_),
                       std::move(results_)};
    }

  private:
    graph::Binding bind(const std::string& name, const Laid& laid) const {
        return match::bind(graph_, facts_, name, laid);
    }

    void add_param(const std::string& name, const Laid& laid) {
        kernel_.params.push_back(
            {name, {graph_[laid.value].type->dtype, forms_->dims(laid.order)}, {}});
        params_.push_back(bind(name, laid));
    }

    std::string name_side(std::size_t side) {
        std::string name = "side";
        for (const auto& [use, at] : side_of_) {
            if (at != side) continue;
            const Node& node = graph_[use.first];
            const auto* op = find_pointwise(node);
            name = region_.second == use.first && use.second == "weight" ? "w"
                   : find_rowwise(node)
                       ? use.second
                       : side_name(op ? op->tag : "add", use.second,
                                   graph_[layout_.sides[side].value].type->dtype, matrix_,
                                   forms_->dims(layout_.sides[side].order));
            break;
        }
        return unique(name);
    }

    std::string unique(const std::string& name) const {
        std::string found = name;
        for (int i = 2;
             std::ranges::find(kernel_.params, found, &ir::Tensor::name) != kernel_.params.end();
             ++i)
            found = fmt::format("{}{}", name, i);
        return found;
    }

    // A parameter with its dimensions in the layout's order.
    ExprId load(std::uint32_t param) {
        auto [at, fresh] = loaded_.try_emplace(param);
        if (fresh) {
            at->second = build_.permute(build_.param(param),
                                        forms_->sorted(kernel_.params[param].type.dims));
        }
        return at->second;
    }

    void tag(ExprId expr, std::string text) {
        tags_.resize(kernel_.exprs.size());
        tags_[ir::index(expr)] = std::move(text);
    }

    ExprId scaled(ExprId x, double factor) {
        return factor == 1 ? x : build_.binary(BinaryOp::mul, x, build_.literal(factor));
    }

    void write_product() {
        const std::uint32_t first = layout_.swapped ? 1 : 0;
        const ExprId acc = multiply(first, 1 - first);
        kernel_.exprs[ir::index(acc)].name = "acc";
        ExprId result = scaled(acc, region_.anchor.alpha);
        if (result != acc) tag(result, "scale");
        for (const auto& side : region_.sides)
            if (side.node == region_.anchor.node)
                result =
                    add_to(result, load(param_of(side.node, side.argument)), region_.anchor.beta);
        values_[region_.anchor.result] = result;
    }

    // Another linear of the same input.
    void write_second(NodeId id) {
        ExprId result = multiply(0, param_of(id, "weight"));
        kernel_.exprs[ir::index(result)].name = "acc2";
        for (const auto& side : region_.sides)
            if (side.node == id && side.argument != "weight")
                result = add_to(result, load(param_of(id, side.argument)), 1);
        values_[graph_[id].outputs.front()] = result;
        derived_.insert(graph_[id].outputs.front());
    }

    ExprId multiply(std::uint32_t a, std::uint32_t b) {
        // The order is batches, M, N, K, but b goes in as [..., K, N].
        auto b_dims = forms_->sorted(kernel_.params[b].type.dims);
        std::swap(b_dims[b_dims.size() - 2], b_dims.back());
        const auto precision = allow_tf32_ && kernel_.params[0].type.dtype == DType::f32
                                   ? ir::Precision::tf32
                                   : ir::Precision::exact;
        const ExprId turned = build_.permute(build_.param(b), b_dims);
        return build_.product(load(a), turned, precision);
    }

    ExprId add_to(ExprId x, ExprId addend, double factor) {
        std::vector<ExprId> both{x, scaled(addend, factor)};
        forms_->align(both);
        const ExprId sum = build_.binary(BinaryOp::add, both[0], both[1]);
        tag(sum, combination_tag("add", matrix_, kernel_[addend].type.dims));
        return sum;
    }

    std::uint32_t param_of(NodeId node, const std::string& argument) const {
        return static_cast<std::uint32_t>(num_operands_ + side_of_.at({node, argument}));
    }

    // Why the node's operands do not go together, or "".
    std::string write_node(NodeId id) {
        const Node& node = graph_[id];
        if (region_.second == id) {
            write_second(id);
            return "";
        }
        const ValueId output = node.outputs.front();
        if (!region_.anchor.space.contains(output)) return "";  // a permute of an operand
        const auto reads = graph::tensor_inputs(node);
        const bool derived =
            std::ranges::any_of(reads, [&](ValueId value) { return derived_.contains(value); });
        if (derived) derived_.insert(output);
        if (find_rowwise(node)) return write_rowwise(id);
        if (const auto halving = read_halving(graph_, node)) return write_halving(id, *halving);
        if (const auto joining = read_joining(graph_, node)) return write_joining(id, *joining);
        const PointwiseOp* op = find_pointwise(node);
        const bool half = region_.anchor.space.halved(output).has_value();
        if (!op) {
            if (half)
                halves_[output] = halves_.at(reads.front());
            else
                values_[output] = values_.at(reads.front());
            return "";
        }
        if (half) {
            for (const int place : {0, 1}) {
                auto operands = operands_of(id, place);
                align(operands);
                halves_[output][static_cast<std::size_t>(place)] = build(node, *op, operands);
            }
            return "";
        }
        std::string tag_text(op->tag);
        auto operands = operands_of(id, 0);
        for (const auto& argument : node.inputs) {
            const auto* value = std::get_if<ValueId>(&argument.value);
            if (!value) {
                if (argument.name == "other") tag_text = combination_tag(op->tag, matrix_, {});
            } else if (!derived_.contains(*value)) {
                const ExprId x = operands.at(argument.name);
                tag_text = combination_tag(op->tag, matrix_, kernel_[x].type.dims);
            }
        }
        align(operands);
        const std::size_t before = kernel_.exprs.size();
        const ExprId result = build(node, *op, operands);
        values_[output] = result;
        if (derived && ir::index(result) >= before) tag(result, std::move(tag_text));
        return "";
    }

    using Operands = std::map<std::string, ExprId>;  // by argument

    // Halves as they are at one of the two places.
    Operands operands_of(NodeId id, int place) {
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

    void align(Operands& operands) {
        std::vector<ExprId> aligned;
        for (const auto& [name, x] : operands) aligned.push_back(x);
        forms_->align(aligned);
        auto next = aligned.begin();
        for (auto& [name, x] : operands) x = *next++;
    }

    ExprId build(const Node& node, const PointwiseOp& op, const Operands& operands) {
        Translation translation(
            graph_, node, kernel_, *forms_,
            [&](const std::string& argument, ValueId) { return operands.at(argument); });
        return op.build(translation);
    }

    // The dimension of the two places, which `x` then has.
    ir::DimId halved_dim(NodeId id, ExprId& x) {
        const auto dims = forms_->look_along(x, region_.anchor.space.groups().at(id)).front();
        if (dims.size() != 1) throw InternalError("a half without a place for the other one");
        return dims.front();
    }

    // At its own place a half is the value itself, at the other the value flipped.
    std::string write_halving(NodeId id, const Halving& halving) {
        ExprId x = values_.at(halving.source);
        const ir::DimId dim = halved_dim(id, x);
        if (kernel_[x].name.empty()) kernel_.exprs[ir::index(x)].name = "h";  // as in heads
        const ExprId other = build_.flip(x, dim);
        for (std::size_t i = 0; i < halving.halves.size(); ++i) {
            const ValueId value = graph_[id].outputs[i];
            halves_[value] = halving.halves[i] == 0 ? Halves{x, other} : Halves{other, x};
            derived_.insert(value);
        }
        return "";
    }

    std::string write_joining(NodeId id, const Joining& joining) {
        ExprId first = halves_.at(joining.halves[0])[0], second = halves_.at(joining.halves[1])[1];
        const ir::DimId dim = halved_dim(id, first);
        halved_dim(id, second);
        const ExprId result = joined(kernel_, first, second, dim);
        values_[graph_[id].outputs.front()] = result;
        tag(result, "rotary");
        joins_ = true;
        return "";
    }

    // The sums and products of a rotation go without saying.
    void name_rotary() {
        for (std::string& text : tags_)
            if (text == "mul" || text == "add" || text == "sub" || text == "neg") text.clear();
        const auto factors = rotary_factors(kernel_);
        for (std::size_t i = num_operands_; i < kernel_.params.size(); ++i) {
            const auto& dims = kernel_.params[i].type.dims;
            const bool whole = std::ranges::find(dims, matrix_.n) != dims.end();
            if (factors[i].empty() || (whole && num_operands_ == 2)) continue;
            kernel_.params[i].name =
                kernel_.exprs[ir::index(build_.param(static_cast<std::uint32_t>(i)))].name =
                    params_[i].tensor = unique(factors[i]);
        }
    }

    ExprId operand(NodeId node, const std::string& argument, ValueId value) {
        const auto known = values_.find(value);
        return known != values_.end() ? known->second : load(param_of(node, argument));
    }

    std::string write_rowwise(NodeId id) {
        const Node& node = graph_[id];
        const RowwiseOp& op = *find_rowwise(node);
        ExprId x = values_.at(std::get<ValueId>(node.inputs.front().value));
        // Torch rounds here, and what a reduction reads is kept in memory: no wider than torch's.
        const DType rounded = graph_[std::get<ValueId>(node.inputs.front().value)].type->dtype;
        if (rounded != DType::f32 && info(rounded).floating) x = build_.cast(rounded, x);
        const auto dims = forms_->look_along(x, region_.anchor.space.groups().at(id));
        for (const auto& group : dims) {
            if (group.empty() && !op.reduces)
                return fmt::format("{} looks along a single element", node.name);
            if (group.size() > 1 && dims.size() > 1)
                return fmt::format("{} counts along a dimension in parts", node.name);
        }
        Translation translation(graph_, node, kernel_, *forms_,
                                [&](const std::string& argument, ValueId value) {
                                    return operand(id, argument, value);
                                });
        const auto results = op.build(translation, x, dims);
        for (std::size_t i = 0; i < std::min(results.size(), node.outputs.size()); ++i)
            values_[node.outputs[i]] = results[i];
        tag(results.front(), std::string(op.tag));
        return "";
    }

    void write_outputs() {
        for (std::size_t i = 0; i < region_.outputs.size(); ++i) {
            const Laid& laid = layout_.results[i];
            const DType dtype = graph_[laid.value].type->dtype;
            ExprId value = values_.at(laid.value);
            // Storing rounds anyway.
            if (const auto* cast = std::get_if<ir::Cast>(&kernel_[value].node))
                if (kernel_[value].type.dtype == dtype &&
                    info(kernel_[cast->x].type.dtype).floating)
                    value = cast->x;
            const ExprId stored = forms_->arrange(value, laid.order);
            if (std::holds_alternative<ir::Permute>(kernel_[stored].node) && stored != value)
                tag(stored, "permuted");
            tags_.resize(kernel_.exprs.size());
            const std::string name = i == 0 ? "y" : fmt::format("y{}", i + 1);
            kernel_.outputs.push_back({{name, {dtype, forms_->dims(laid.order)}, {}}, stored});
            results_.push_back(bind(name, laid));
        }
    }

    const Graph& graph_;
    const Facts& facts_;
    const Region& region_;
    const Layout& layout_;
    bool allow_tf32_;
    ir::Kernel kernel_;
    ir::Builder build_;
    std::map<std::string, std::int64_t> extents_;
    std::optional<Forms> forms_;
    MatrixDims matrix_;
    std::map<Use, std::size_t> side_of_;
    std::size_t num_operands_ = 2;  // parameters before the sides
    std::map<std::uint32_t, ExprId> loaded_;
    using Halves = std::array<ExprId, 2>;  // at each of the two places
    std::map<ValueId, ExprId> values_;
    std::map<ValueId, Halves> halves_;
    bool joins_ = false;
    std::set<ValueId> derived_;  // values computed from the product
    std::vector<std::string> tags_;
    std::vector<graph::Binding> params_, results_;
};

}  // namespace

graph::Binding bind(const Graph& graph, const Facts& facts, const std::string& name,
                    const Laid& laid) {
    return {name, graph[laid.value].name, laid.dims,
            static_cast<bool>(facts.constant[graph::index(laid.value)]), laid.alignment};
}

Result<Layout> layout_of(const Graph& graph, const Region& region) {
    std::map<Use, std::size_t> ignored;
    Parts parts{region.a, region.b, {}, number_sides(region, ignored)};
    for (const ValueId value : region.outputs)
        parts.results.push_back({value, region.anchor.space.shape(value)});
    return lay_out(graph, region.anchor.space, region.anchor.k, parts);
}

Result<Written> write_kernel(const Graph& graph, const Facts& facts, const Region& region,
                             const Layout& layout, bool allow_tf32) {
    return Writer(graph, facts, region, layout, allow_tf32).write();
}

}  // namespace fact::match

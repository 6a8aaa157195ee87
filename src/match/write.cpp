#include "match/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/dsl.h"
#include "match/cost.h"
#include "match/naming.h"
#include "match/peephole.h"
#include "match/pointwise.h"
#include "support/hash.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ir::BinaryOp;
using ir::ExprId;

namespace {

class Writer {
  public:
    Writer(const Graph& graph, const Facts& facts, const Region& region, bool allow_tf32)
        : graph_(graph), facts_(facts), region_(region), allow_tf32_(allow_tf32), build_(kernel_) {}

    Result<Written> write() {
        for (const auto& side : region_.sides) {
            const Placed placed{side.value, side.shape};
            const auto at = std::ranges::find(sides_, placed);
            side_of_[{side.node, side.argument}] = static_cast<std::size_t>(at - sides_.begin());
            if (at == sides_.end()) sides_.push_back(placed);
        }
        const Placed result{region_.output, region_.anchor.space.shape(region_.output)};
        auto layout = lay_out(graph_, region_.anchor.space, region_.anchor.k, region_.a, region_.b,
                              result, sides_);
        if (!layout) return layout.error();
        layout_ = *layout;
        for (const auto& dim : layout_.dims) dims_.push_back(kernel_.dim(dim.name));

        const bool linear = region_.anchor.rule == "linear";
        const Laid& first = layout_.swapped ? layout_.b : layout_.a;
        const Laid& second = layout_.swapped ? layout_.a : layout_.b;
        add_param(linear ? "x" : "a", first);
        add_param(linear ? "w" : "b", second);
        for (std::size_t i = 0; i < layout_.sides.size(); ++i)
            add_param(name_side(i), layout_.sides[i]);

        write_product();
        for (const NodeId id : region_.nodes)
            if (id != region_.anchor.node)
                if (std::string reason = write_node(id); !reason.empty()) return Error{reason, ""};
        write_output();
        recognise_activations(kernel_, tags_);
        kernel_.name = kernel_name(linear ? "linear" : "matmul", kernel_, tags_);
        ir::drop_dead(kernel_);
        if (std::string wrong = ir::verify(kernel_); !wrong.empty())
            throw InternalError(fmt::format("region of {} gives a bad kernel: {}",
                                            graph_[region_.anchor.node].name, wrong));
        return Written{std::move(kernel_), std::move(layout_), std::move(params_),
                       std::move(results_)};
    }

  private:
    std::vector<ir::DimId> dims_in(const std::vector<int>& order) const {
        std::vector<ir::DimId> dims;
        for (const int dim : order) dims.push_back(dims_[static_cast<std::size_t>(dim)]);
        return dims;
    }

    graph::Binding bind(const std::string& name, const Laid& laid) const {
        return {name, graph_[laid.value].name, laid.dims,
                static_cast<bool>(facts_.constant[graph::index(laid.value)])};
    }

    void add_param(const std::string& name, const Laid& laid) {
        kernel_.params.push_back({name, {graph_[laid.value].type->dtype, dims_in(laid.order)}, {}});
        params_.push_back(bind(name, laid));
    }

    std::string name_side(std::size_t side) {
        std::string name = "side";
        for (const auto& [use, at] : side_of_) {
            if (at != side) continue;
            const auto* op = find_pointwise(graph_[use.first]);
            name = side_name(op ? op->tag : "add", use.second,
                             graph_[layout_.sides[side].value].type->dtype, kernel_,
                             dims_in(layout_.sides[side].order));
            break;
        }
        std::string unique = name;
        for (int i = 2;
             std::ranges::find(kernel_.params, unique, &ir::Tensor::name) != kernel_.params.end();
             ++i)
            unique = fmt::format("{}{}", name, i);
        return unique;
    }

    // A parameter with its dimensions in the order batches, M, N, K.
    ExprId load(std::uint32_t param) {
        auto [at, fresh] = loaded_.try_emplace(param);
        if (fresh) {
            auto dims = kernel_.params[param].type.dims;
            std::ranges::sort(dims);
            at->second = build_.permute(build_.param(param), dims);
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
        // Dimension ids ascend as batches, M, N, K, but b goes in as [..., K, N].
        auto b_dims = kernel_.params[1 - first].type.dims;
        std::ranges::sort(b_dims);
        std::swap(b_dims[b_dims.size() - 2], b_dims.back());
        const ExprId b = build_.permute(build_.param(1 - first), b_dims);
        const auto precision = allow_tf32_ && kernel_.params[0].type.dtype == DType::f32
                                   ? ir::Precision::tf32
                                   : ir::Precision::exact;
        const ExprId acc = build_.product(load(first), b, precision);
        kernel_.exprs[ir::index(acc)].name = "acc";
        ExprId result = scaled(acc, region_.anchor.alpha);
        if (result != acc) tag(result, "scale");
        for (const auto& side : region_.sides) {
            if (side.node != region_.anchor.node) continue;
            const ExprId addend = load(param_of(side.node, side.argument));
            result = build_.binary(BinaryOp::add, result, scaled(addend, region_.anchor.beta));
            tag(result, combination_tag("add", kernel_, kernel_[addend].type.dims));
        }
        values_[region_.anchor.result] = result;
        derived_.insert(region_.anchor.result);
    }

    std::uint32_t param_of(NodeId node, const std::string& argument) const {
        return static_cast<std::uint32_t>(2 + side_of_.at({node, argument}));
    }

    // Why the node's operands do not go together, or "".
    std::string write_node(NodeId id) {
        const Node& node = graph_[id];
        const ValueId output = node.outputs.front();
        if (!region_.anchor.space.contains(output)) return "";  // a permute of an operand
        const auto reads = graph::tensor_inputs(node);
        const bool derived =
            std::ranges::any_of(reads, [&](ValueId value) { return derived_.contains(value); });
        if (derived) derived_.insert(output);
        const PointwiseOp* op = find_pointwise(node);
        if (!op) {
            values_[output] = values_.at(reads.front());
            return "";
        }
        std::string tag_text(op->tag);
        std::vector<std::vector<ir::DimId>> operand_dims;
        const auto operand = [&](const std::string& argument, ValueId value) {
            const auto known = values_.find(value);
            return known != values_.end() ? known->second : load(param_of(id, argument));
        };
        for (const auto& argument : node.inputs) {
            const auto* value = std::get_if<ValueId>(&argument.value);
            if (!value) {
                if (argument.name == "other") tag_text = combination_tag(op->tag, kernel_, {});
                continue;
            }
            operand_dims.push_back(kernel_[operand(argument.name, *value)].type.dims);
            if (!derived_.contains(*value))
                tag_text = combination_tag(op->tag, kernel_, operand_dims.back());
        }
        // The language combines operands only when one has all dimensions of the others.
        const bool nested = std::ranges::any_of(operand_dims, [&](const auto& all) {
            return std::ranges::all_of(
                operand_dims, [&](const auto& some) { return std::ranges::includes(all, some); });
        });
        if (!nested && !operand_dims.empty())
            return fmt::format("{} combines a row with a column", node.name);
        const std::size_t before = kernel_.exprs.size();
        Translation translation(graph_, node, kernel_, operand);
        const ExprId result = op->build(translation);
        values_[output] = result;
        if (derived && ir::index(result) >= before) tag(result, std::move(tag_text));
        return "";
    }

    void write_output() {
        const DType dtype = graph_[region_.output].type->dtype;
        ExprId value = values_.at(region_.output);
        // Storing rounds anyway.
        if (const auto* cast = std::get_if<ir::Cast>(&kernel_[value].node))
            if (kernel_[value].type.dtype == dtype && info(kernel_[cast->x].type.dtype).floating)
                value = cast->x;
        const auto dims = dims_in(layout_.result.order);
        const ExprId stored = build_.permute(value, dims);
        if (stored != value) tag(stored, "permuted");
        tags_.resize(kernel_.exprs.size());
        kernel_.outputs.push_back({{"y", {dtype, dims}, {}}, stored});
        results_.push_back(bind("y", layout_.result));
    }

    const Graph& graph_;
    const Facts& facts_;
    const Region& region_;
    bool allow_tf32_;
    ir::Kernel kernel_;
    ir::Builder build_;
    Layout layout_;
    std::vector<ir::DimId> dims_;
    std::vector<Placed> sides_;
    std::map<std::pair<NodeId, std::string>, std::size_t> side_of_;
    std::map<std::uint32_t, ExprId> loaded_;
    std::map<ValueId, ExprId> values_;
    std::set<ValueId> derived_;  // values computed from the product
    std::vector<std::string> tags_;
    std::vector<graph::Binding> params_, results_;
};

schedule::Problem problem_of(const Graph& graph, const Region& region, const Layout& layout,
                             bool allow_tf32) {
    schedule::Problem problem;
    problem.operands = graph[region.anchor.a].type->dtype;
    problem.output = graph[region.output].type->dtype;
    problem.split = problem.operands == DType::f32 && !allow_tf32;
    const auto major = [&](const Laid& laid) {
        return laid.order.back() == layout.k() ? schedule::Major::k : schedule::Major::mn;
    };
    problem.a = major(layout.a);
    problem.b = major(layout.b);
    const auto extent = [&](int dim) {
        return static_cast<long>(layout.dims[static_cast<std::size_t>(dim)].extent);
    };
    problem.m = extent(layout.m());
    problem.n = extent(layout.n());
    problem.k = extent(layout.k());
    for (int dim = 0; dim < layout.m(); ++dim) problem.batch *= extent(dim);
    for (const auto& side : layout.sides) {
        const auto has = [&](int dim) {
            return std::ranges::find(side.order, dim) != side.order.end();
        };
        if (has(layout.m()) && has(layout.n())) ++problem.full_operands;
    }
    return problem;
}

// Everything a realization depends on, and nothing of the place it was found at.
std::string family_key(const Pattern& pattern) {
    const auto& p = pattern.problem;
    std::string key = fmt::format("{}\n{}x{}x{}x{} {} {} {} {} {} {}", pattern.kernel, p.batch, p.m,
                                  p.n, p.k, info(p.operands).name, info(p.output).name, p.split,
                                  static_cast<int>(p.a), static_cast<int>(p.b), p.full_operands);
    for (const auto* bindings : {&pattern.params, &pattern.results})
        for (const auto& binding : *bindings) {
            key += fmt::format("\n{} {}", binding.tensor, binding.constant);
            for (const auto& dims : binding.dims) key += fmt::format(" {}", dims.size());
        }
    return key;
}

}  // namespace

Result<Written> write_kernel(const Graph& graph, const Facts& facts, const Region& region,
                             bool allow_tf32) {
    return Writer(graph, facts, region, allow_tf32).write();
}

Result<Pattern> write_pattern(const Graph& graph, const Facts& facts, const Region& region,
                              const Options& options, const GpuSpec& gpu) {
    const auto written = write_kernel(graph, facts, region, options.allow_tf32);
    if (!written) return written.error();
    Pattern pattern;
    pattern.rule = region.anchor.rule;
    const std::set<NodeId> inside(region.nodes.begin(), region.nodes.end());
    for (const NodeId id : region.nodes) {
        pattern.nodes.push_back(graph[id].name);
        for (const ValueId value : graph::tensor_inputs(graph[id])) {
            const auto producer = graph[value].producer;
            const std::string& name = graph[value].name;
            if (producer && inside.contains(*producer)) continue;
            if (std::ranges::find(pattern.inputs, name) == pattern.inputs.end())
                pattern.inputs.push_back(name);
        }
    }
    pattern.outputs = {graph[region.output].name};
    pattern.kernel = dsl::to_text(written->kernel);
    pattern.params = written->params;
    pattern.results = written->results;
    pattern.problem = problem_of(graph, region, written->layout, options.allow_tf32);
    pattern.cost = cost_of(graph, region, written->layout, options, gpu);
    pattern.priority = pattern.cost.unfused_us - pattern.cost.bound_us;
    pattern.where = graph[region.anchor.node].where;
    pattern.id = written->kernel.name;
    pattern.family = fmt::format("{}_{}", written->kernel.name, short_hash(family_key(pattern)));
    return pattern;
}

}  // namespace fact::match

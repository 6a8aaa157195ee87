#include "index/graph_features.h"

#include <algorithm>
#include <map>

#include "graph/arguments.h"
#include "graph/identity.h"
#include "graph/operators.h"
#include "graph/products.h"
#include "ir/functions.h"

namespace fact::index {

namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

// The steps of an operator in the language, by its name without the overload. Products, attention
// and views are recognized by their kind; an operator without a row counts under its own name,
// which no text has.
struct Row {
    std::string_view aten;
    std::vector<std::string> steps;
};

const std::vector<Row>& rows() {
    static const std::vector<std::string> kNorm{"sum over", "/",     "-", "*", "sum over", "/",
                                                "+",        "rsqrt", "*", "*", "+"};
    static const std::vector<std::string> kSoftmax{"max over", "-", "exp", "sum over", "/"};
    static const std::vector<std::string> kLogSoftmax{"max over", "-",   "exp",
                                                      "sum over", "log", "-"};
    static const std::vector<Row> table{
        {"_to_copy", {}},
        {"to", {}},
        {"clone", {}},
        {"contiguous", {}},
        {"type_as", {}},
        {"dropout", {}},
        {"add", {"+"}},
        {"sub", {"-"}},
        {"rsub", {"-"}},
        {"mul", {"*"}},
        {"div", {"/"}},
        {"square", {"*"}},
        {"addcmul", {"*", "+"}},
        {"lerp", {"-", "*", "+"}},
        {"maximum", {"max"}},
        {"minimum", {"min"}},
        {"clamp", {"max", "min"}},
        {"clamp_min", {"max"}},
        {"clamp_max", {"min"}},
        {"hardtanh", {"max", "min"}},
        {"relu6", {"max", "min"}},
        {"leaky_relu", {">", "*", "where"}},
        {"elu", {">", "expm1", "where"}},
        {"hardsigmoid", {"+", "max", "min", "*"}},
        {"hardswish", {"+", "max", "min", "*", "*"}},
        {"masked_fill", {"where"}},
        {"eq", {"=="}},
        {"ne", {"!="}},
        {"lt", {"<"}},
        {"le", {"<="}},
        {"gt", {">"}},
        {"ge", {">="}},
        {"logical_and", {"and"}},
        {"logical_or", {"or"}},
        {"logical_not", {"not"}},
        {"bitwise_and", {"and"}},
        {"bitwise_or", {"or"}},
        {"bitwise_not", {"not"}},
        {"neg", {"-"}},
        {"cat", {"flip"}},  // mostly the halves of a rotary embedding
        {"flip", {"flip"}},
        {"arange", {"index"}},
        {"sum", {"sum over"}},
        {"mean", {"sum over", "/"}},
        {"amax", {"max over"}},
        {"max", {"max over"}},
        {"amin", {"min over"}},
        {"min", {"min over"}},
        {"var", {"sum over", "-", "*", "sum over", "/"}},
        {"std", {"sum over", "-", "*", "sum over", "/", "sqrt"}},
        {"linalg_vector_norm", {"*", "sum over", "sqrt"}},
        {"mse_loss", {"-", "*", "sum over", "/"}},
        {"logsumexp", {"max over", "-", "exp", "sum over", "log", "+"}},
        {"softmax", kSoftmax},
        {"_softmax", kSoftmax},
        {"_safe_softmax", kSoftmax},
        {"log_softmax", kLogSoftmax},
        {"_log_softmax", kLogSoftmax},
        {"cross_entropy_loss", kLogSoftmax},
        {"layer_norm", kNorm},
        {"native_layer_norm", kNorm},
        {"group_norm", kNorm},
        {"native_group_norm", kNorm},
        {"instance_norm", kNorm},
        {"rms_norm", {"*", "sum over", "/", "+", "rsqrt", "*", "*"}},
        {"_fused_rms_norm", {"*", "sum over", "/", "+", "rsqrt", "*", "*"}},
        {"batch_norm", {"-", "+", "rsqrt", "*", "*", "+"}},
    };
    return table;
}

// Functions with the same name in the language and in torch: relu, exp, tanh, where.
bool same_in_both(std::string_view name) {
    return name == "where" || ir::find_unary_function(name) || ir::find_binary_function(name);
}

std::vector<std::string> steps_of(const Node& node) {
    const auto name = graph::aten_name(node.target);
    const auto kind = graph::facts_of(node).kind;
    if (kind == graph::OperatorKind::product) {
        const auto* product = graph::find_product(node);
        const bool addend =
            product && !product->addend.empty() && graph::tensor_argument(node, product->addend);
        return addend ? std::vector<std::string>{"@", "+"} : std::vector<std::string>{"@"};
    }
    if (kind == graph::OperatorKind::attention) {
        std::vector<std::string> steps{"attention"};
        if (graph::flag_argument(node, "is_causal", false)) steps.push_back("causal");
        if (graph::tensor_argument(node, "attn_mask")) steps.push_back("bias");
        if (graph::flag_argument(node, "enable_gqa", false)) steps.push_back("grouped");
        return steps;
    }
    if (name == "gelu") {
        const auto* approximate = graph::find_argument(node, "approximate");
        const auto* text = approximate ? std::get_if<std::string>(approximate) : nullptr;
        return {text && *text == "tanh" ? "gelu_tanh" : "gelu"};
    }
    if (name == "pow") {
        const auto exponent = graph::number_argument(node, "exponent");
        if (exponent == 2) return {"*"};
        if (exponent == -0.5) return {"rsqrt"};
        if (exponent == 0.5) return {"sqrt"};
    }
    if (const auto row = std::ranges::find(rows(), name, &Row::aten); row != rows().end())
        return row->steps;
    if (same_in_both(name)) return {std::string(name)};
    if (kind == graph::OperatorKind::view || kind == graph::OperatorKind::nothing) return {};
    return {std::string(name.empty() ? std::string_view(node.target) : name)};
}

class Collector {
  public:
    explicit Collector(const Graph& graph) : graph_(graph) {}

    void add(const Node& node) {
        std::vector<std::size_t> reads;
        for (const ValueId value : graph::tensor_inputs(node)) {
            if (const auto made = last_.find(value); made != last_.end())
                reads.push_back(made->second);
            add_type(value);
        }
        // The first step reads the node's inputs; each later step reads the one before it.
        steps_.push_back({"", reads});
        for (auto& what : steps_of(node)) steps_.push_back({std::move(what), {steps_.size() - 1}});
        for (const ValueId value : node.outputs) {
            last_[value] = steps_.size() - 1;
            add_type(value);
        }
        add_sizes(node);
    }

    Features features() && {
        Features found = features_of(steps_);
        found.types = std::move(types_);
        found.sizes = product_.k ? product_ : rows_;
        return found;
    }

  private:
    void add_type(ValueId value) {
        const auto& type = graph_[value].type;
        if (type && info(type->dtype).floating) types_.insert(std::string(info(type->dtype).name));
    }

    // nullptr if they are not known or are fewer than `min_rank`.
    const std::vector<std::int64_t>* sizes_of(ValueId value, std::size_t min_rank) const {
        const auto& type = graph_[value].type;
        return type && type->sizes.size() >= min_rank ? &type->sizes : nullptr;
    }

    // All sizes except the last `left_out`, multiplied.
    static std::int64_t multiplied(const std::vector<std::int64_t>& sizes, std::size_t left_out) {
        std::int64_t all = 1;
        for (std::size_t i = 0; i + left_out < sizes.size(); ++i) all *= sizes[i];
        return all;
    }

    static double work(const Sizes& sizes) {
        return static_cast<double>(sizes.m.value_or(0)) * static_cast<double>(sizes.n.value_or(0)) *
               static_cast<double>(sizes.k.value_or(1)) *
               static_cast<double>(sizes.batch.value_or(1));
    }

    void add_sizes(const Node& node) {
        if (node.outputs.empty()) return;
        const auto* out = sizes_of(node.outputs.front(), 1);
        if (!out) return;
        const auto kind = graph::facts_of(node).kind;
        if (kind == graph::OperatorKind::product) return add_product(node, *out);
        if (kind == graph::OperatorKind::attention) {
            const auto operands = graph::tensor_inputs(node);
            const auto* q = operands.size() < 2 ? nullptr : sizes_of(operands[0], 2);
            const auto* k = operands.size() < 2 ? nullptr : sizes_of(operands[1], 2);
            if (q && k)
                keep_larger({q->end()[-2], k->end()[-2], q->back(), multiplied(*q, 2)}, product_);
            return;
        }
        for (const ValueId value : graph::tensor_inputs(node))
            if (const auto* in = sizes_of(value, 1))
                keep_larger({multiplied(*in, 1), in->back(), std::nullopt, std::nullopt}, rows_);
    }

    void add_product(const Node& node, const std::vector<std::int64_t>& out) {
        const auto* op = graph::find_product(node);
        const auto a = op ? graph::tensor_argument(node, op->a) : std::nullopt;
        const auto b = op ? graph::tensor_argument(node, op->b) : std::nullopt;
        const auto *left = a ? sizes_of(*a, 1) : nullptr, *right = b ? sizes_of(*b, 1) : nullptr;
        if (!left || !right) return;
        // A weight is one matrix for all batches, which then count as rows.
        if (right->size() <= 2)
            keep_larger({multiplied(out, 1), out.back(), left->back(), 1}, product_);
        else if (out.size() >= 2)
            keep_larger({out.end()[-2], out.back(), left->back(), multiplied(out, 2)}, product_);
    }

    static void keep_larger(const Sizes& here, Sizes& largest) {
        if (work(here) > work(largest)) largest = here;
    }

    const Graph& graph_;
    std::vector<Step> steps_;
    std::map<ValueId, std::size_t> last_;  // the step that gives a value
    std::set<std::string> types_;
    Sizes product_, rows_;  // of the largest product, and of the largest other operand
};

}  // namespace

Features graph_features(const Graph& graph, const std::vector<graph::NodeId>& nodes) {
    Collector collector(graph);
    for (const auto id : nodes) collector.add(graph[id]);
    return std::move(collector).features();
}

}  // namespace fact::index

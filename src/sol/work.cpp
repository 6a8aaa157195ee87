#include "sol/work.h"

#include <algorithm>
#include <map>

#include "graph/arguments.h"
#include "graph/identity.h"
#include "graph/products.h"

namespace fact::sol {

using graph::Graph;
using graph::Node;
using graph::OperatorKind;
using graph::TensorType;
using graph::ValueId;

namespace {

double num_elements(const TensorType& type) {
    double count = 1;
    for (const auto size : type.sizes) count *= static_cast<double>(size);
    return count;
}

// Whether the same memory can be viewed with other sizes: between two dimensions that are not
// contiguous with each other, the new sizes must have a boundary too.
bool reshapes_in_place(const TensorType& from, const TensorType& to) {
    std::vector<std::int64_t> boundaries;  // elements inside each dimension of `to`
    std::int64_t inside = 1;
    for (std::size_t i = to.sizes.size(); i-- > 0;) {
        boundaries.push_back(inside);
        inside *= to.sizes[i];
    }
    std::int64_t inner = 1, stride = 0;  // elements so far, the stride that would continue them
    for (std::size_t i = from.sizes.size(); i-- > 0;) {
        if (from.sizes[i] == 1) continue;
        if (inner > 1 && from.strides[i] != stride &&
            std::ranges::find(boundaries, inner) == boundaries.end())
            return false;
        inner *= from.sizes[i];
        stride = from.strides[i] * from.sizes[i];
    }
    return true;
}

// Whether a view's result shares its argument's memory; some operators copy if it cannot.
bool shares_memory(const Graph& graph, const Node& node) {
    const auto reads = graph::tensor_inputs(node);
    if (reads.empty() || node.outputs.size() != 1) return true;
    const auto &from = graph[reads.front()].type, &to = graph[node.outputs.front()].type;
    if (!from || !to) return true;
    const std::string_view name = graph::aten_name(node.target);
    if (name == "to" || name == "type_as" || name == "contiguous") {
        const bool copy = graph::flag_argument(node, "copy", false);
        return !copy && from->dtype == to->dtype && from->device == to->device &&
               from->strides == to->strides;
    }
    if (name == "reshape" || name == "reshape_as" || name == "flatten" || name == "ravel")
        return reshapes_in_place(*from, *to);
    return true;
}

const TensorType* type_of(const Graph& graph, ValueId value) {
    const auto& type = graph[value].type;
    return type ? &*type : nullptr;
}

const TensorType* type_of(const Graph& graph, std::optional<ValueId> value) {
    return value ? type_of(graph, *value) : nullptr;
}

double product_of(const std::vector<std::int64_t>& sizes, std::size_t first) {
    double count = 1;
    for (std::size_t i = first; i < sizes.size(); ++i) count *= static_cast<double>(sizes[i]);
    return count;
}

class Counter {
  public:
    Counter(const Graph& graph, const Node& node)
        : graph_(graph),
          node_(node),
          facts_(graph::facts_of(node)),
          reads_(graph::tensor_inputs(node)) {}

    NodeWork count() {
        work_.kind = facts_.kind;
        if (facts_.kind == OperatorKind::view && !shares_memory(graph_, node_))
            work_.kind = OperatorKind::pointwise;
        if (work_.kind == OperatorKind::nothing || work_.kind == OperatorKind::view) return work_;
        std::ranges::sort(reads_);
        const auto repeated = std::ranges::unique(reads_);
        reads_.erase(repeated.begin(), repeated.end());
        count_bytes();
        count_flops();
        return work_;
    }

  private:
    double out_elements() const {
        const auto* type = node_.outputs.empty() ? nullptr : type_of(graph_, node_.outputs.front());
        return type ? num_elements(*type) : 0;
    }
    const TensorType* first_input() const {
        const auto reads = graph::tensor_inputs(node_);
        return reads.empty() ? nullptr : type_of(graph_, reads.front());
    }
    const TensorType* argument(std::string_view name) const {
        return type_of(graph_, graph::tensor_argument(node_, name));
    }

    void count_bytes() {
        const auto in_order = graph::tensor_inputs(node_);
        // What is overwritten is not read.
        const bool overwrites = graph::aten_name(node_.target) == "copy";
        for (const ValueId value : reads_) {
            const auto* type = type_of(graph_, value);
            if (!type || work_.kind == OperatorKind::fill) continue;
            const bool is_first = value == in_order.front();
            double bytes = stored_bytes(*type);
            if (is_first && work_.kind == OperatorKind::gather)
                bytes = std::min(bytes, out_elements() * info(type->dtype).bytes);
            if (is_first && (work_.kind == OperatorKind::scatter || overwrites)) continue;
            work_.reads.push_back({value, bytes});
        }
        for (const ValueId value : node_.outputs) {
            const auto* type = type_of(graph_, value);
            if (!type) continue;
            double bytes = stored_bytes(*type);
            // A scatter writes as much as its source, the last tensor argument, has.
            if (work_.kind == OperatorKind::scatter && !in_order.empty())
                if (const auto* source = type_of(graph_, in_order.back()))
                    bytes = std::min(bytes, stored_bytes(*source));
            work_.writes.push_back({value, bytes});
        }
    }

    void count_flops() {
        switch (work_.kind) {
            case OperatorKind::product:
                return count_product();
            case OperatorKind::attention:
                return count_attention();
            case OperatorKind::reduction:
            case OperatorKind::loss:
                if (const auto* type = first_input())
                    work_.flops = facts_.flops_per_element * num_elements(*type);
                return;
            case OperatorKind::unknown:
                work_.only_bytes = true;
                return;
            case OperatorKind::nothing:
            case OperatorKind::view:
            case OperatorKind::pointwise:
            case OperatorKind::softmax:
            case OperatorKind::norm:
            case OperatorKind::gather:
            case OperatorKind::scatter:
            case OperatorKind::fill:
                work_.flops = facts_.flops_per_element * out_elements();
                return;
        }
    }

    void count_product() {
        const double flops = product_flops();
        const auto* operand = first_input();
        work_.only_bytes = flops == 0 || !operand || !info(operand->dtype).floating;
        if (work_.only_bytes) return;
        work_.flops = flops;
        work_.product_operands = operand->dtype;
        work_.convolution = graph::aten_name(node_.target).starts_with("conv");
    }

    // 0 if not known.
    double product_flops() const {
        const std::string_view name = graph::aten_name(node_.target);
        if (name == "einsum") return einsum_flops();
        if (name.starts_with("conv")) return convolution_flops();
        const auto* row = graph::find_product(node_);
        const TensorType* a = row ? argument(row->a) : first_input();
        if (!a || a->sizes.empty()) return 0;
        return 2 * out_elements() * static_cast<double>(a->sizes.back());
    }

    double convolution_flops() const {
        const auto *input = argument("input"), *weight = argument("weight");
        if (!input || !weight || weight->sizes.empty()) return 0;
        const bool transposed = graph::aten_name(node_.target).starts_with("conv_transpose") ||
                                graph::flag_argument(node_, "transposed", false);
        // Each output element is a dot product with weight[o]. Transposed: each input element is
        // multiplied by all of weight[i].
        const double filter = product_of(weight->sizes, 1);
        return 2 * filter * (transposed ? num_elements(*input) : out_elements());
    }

    double einsum_flops() const {
        const auto equation = graph::read_einsum(node_);
        const auto operands = graph::tensor_inputs(node_);
        if (!equation || equation->inputs.size() != 2 || operands.size() != 2) return 0;
        std::map<char, double> extents;
        for (std::size_t i = 0; i < 2; ++i) {
            const auto* type = type_of(graph_, operands[i]);
            if (!type || type->sizes.size() != equation->inputs[i].size()) return 0;
            for (std::size_t d = 0; d < type->sizes.size(); ++d) {
                double& extent = extents[equation->inputs[i][d]];
                extent = std::max(extent, static_cast<double>(type->sizes[d]));
            }
        }
        double flops = 2;
        for (const auto& [letter, extent] : extents) flops *= extent;
        return flops;
    }

    void count_attention() {
        const auto operands = graph::tensor_inputs(node_);
        const TensorType* types[3] = {};
        for (std::size_t i = 0; i < 3 && i < operands.size(); ++i)
            types[i] = type_of(graph_, operands[i]);
        if (!types[0] || !types[1] || !types[2] || types[0]->sizes.size() < 2 ||
            types[1]->sizes.size() < 2 || types[2]->sizes.size() < 2) {
            work_.only_bytes = true;
            return;
        }
        const auto attention = attention_work(*types[0], *types[1], *types[2],
                                              graph::flag_argument(node_, "is_causal", false));
        work_.flops = attention.flops;
        work_.product_operands = types[0]->dtype;
        for (Access& read : work_.reads)
            if (read.value != operands[0] &&
                (read.value == operands[1] || read.value == operands[2]))
                read.bytes *= attention.keys_read;
    }

    const Graph& graph_;
    const Node& node_;
    graph::OperatorFacts facts_;
    std::vector<ValueId> reads_;
    NodeWork work_;
};

}  // namespace

double stored_bytes(const TensorType& type) {
    double elements = 1, span = 1;
    for (std::size_t i = 0; i < type.sizes.size(); ++i) {
        if (type.sizes[i] == 0) return 0;
        const auto size = static_cast<double>(type.sizes[i]);
        if (type.strides[i] != 0) elements *= size;
        span += (size - 1) * static_cast<double>(type.strides[i]);
    }
    return std::min(elements, span) * info(type.dtype).bytes;
}

double NodeWork::bytes() const {
    double sum = 0;
    for (const auto* list : {&reads, &writes})
        for (const Access& access : *list) sum += access.bytes;
    return sum;
}

NodeWork work_of(const Graph& graph, const Node& node) {
    return Counter(graph, node).count();
}

double seen_scores(double rows, double columns, bool causal, std::optional<std::int64_t> window) {
    // The scores of `count` rows, of which row i sees min(i + 1, columns).
    const auto triangle = [&](double count) {
        const double square = std::min(count, columns);
        return square * (square + 1) / 2 + (count - square) * columns;
    };
    if (!window) return causal ? triangle(rows) : rows * columns;
    const auto ahead = causal ? 0.0 : static_cast<double>(*window - 1);
    const double behind = std::max(0.0, rows - static_cast<double>(*window));
    // Row i sees the columns up to i + ahead, less those up to i - window.
    return triangle(rows + ahead) - triangle(ahead) - triangle(behind);
}

AttentionWork attention_work(const TensorType& q, const TensorType& k, const TensorType& v,
                             bool causal, std::optional<std::int64_t> window) {
    const auto rows = static_cast<double>(q.sizes.end()[-2]);
    const auto columns = static_cast<double>(k.sizes.end()[-2]);
    const auto features = static_cast<double>(q.sizes.back() + v.sizes.back());
    // The largest extents: keys may be broadcast or shared by groups of heads. `i` counts from the
    // last dimension: the first two are features and rows.
    double batch = 1;
    for (std::size_t i = 3; i <= std::max(q.sizes.size(), k.sizes.size()); ++i) {
        const auto extent = [&](const TensorType& type) {
            return i <= type.sizes.size()
                       ? static_cast<double>(type.sizes.end()[-std::ptrdiff_t(i)])
                       : 1.0;
        };
        batch *= std::max({extent(q), extent(k), extent(v)});
    }
    const double flops = 2 * batch * seen_scores(rows, columns, causal, window) * features;
    if ((!causal && !window) || columns == 0) return {flops, 1};
    const double ahead = causal ? 0.0 : static_cast<double>(*window - 1);
    return {flops, std::min(rows + ahead, columns) / columns};
}

Work as_work(const NodeWork& work, Runner runner, Tf32 allowed) {
    Unit unit = Unit::cuda_core_fp32;
    const bool tf32 = allowed.in(work.convolution);
    if (work.product_operands)
        unit = runner == Runner::torch ? torch_unit(*work.product_operands, tf32)
                                       : kernel_unit(*work.product_operands, tf32);
    return {work.flops, work.bytes(), unit};
}

}  // namespace fact::sol

#include "match/attention/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/arguments.h"
#include "match/attention/mask.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;

namespace {

constexpr std::string_view kTarget = "aten.scaled_dot_product_attention.default";

// Whether the tensor is neither broadcast nor of extent one along the dimension.
bool varies(const TensorType& type, std::size_t dim) {
    return type.strides[dim] != 0 && type.sizes[dim] != 1;
}

class CallReader {
  public:
    CallReader(const Graph& graph, KnownValues& known, NodeId id)
        : graph_(graph), known_(known), node_(graph[id]) {
        call_.node = id;
        call_.nodes = {id};
    }

    Result<AttentionCall> read() {
        if (std::string reason = unsupported(); !reason.empty()) return Error{reason, ""};
        const TensorType &q = type("query"), &k = type("key"), &v = type("value");
        const std::size_t rank = q.sizes.size();
        const TensorType& result = *graph_[node_.outputs.front()].type;
        // If R heads share keys, the heads of q are [G, R] and those of k and v are G.
        Shape q_batch(rank - 2), k_batch(rank - 2), v_batch(rank - 2);
        for (std::size_t i = 0; i + 2 < rank; ++i) {
            const Axis axis = add_axis(result.sizes[i]);
            q_batch[i] = k_batch[i] = v_batch[i] = {axis};
            if (grouped() && i + 3 == rank && k.sizes[i] != q.sizes[i])
                q_batch[i].push_back(call_.split(axis, q.sizes[i] / k.sizes[i]));
        }
        call_.m = add_axis(q.sizes[rank - 2]);
        call_.d = add_axis(q.sizes[rank - 1]);
        call_.n = add_axis(k.sizes[rank - 2]);
        call_.e = add_axis(v.sizes[rank - 1]);
        call_.q = placed("query", q_batch, call_.m, call_.d);
        call_.k = placed("key", k_batch, call_.n, call_.d);
        call_.v = placed("value", v_batch, call_.n, call_.e);
        call_.result = placed(node_.outputs.front(), q_batch, call_.m, call_.e);
        call_.sight.causal = flag("is_causal");
        const auto scale = graph::number_argument(node_, "scale");
        call_.scale = scale.value_or(1 / std::sqrt(static_cast<double>(q.sizes.back())));
        if (std::string reason = read_mask(q_batch); !reason.empty()) return Error{reason, ""};
        return std::move(call_);
    }

  private:
    std::optional<ValueId> tensor(std::string_view name) const {
        return graph::tensor_argument(node_, name);
    }
    bool flag(std::string_view name) const { return graph::flag_argument(node_, name, false); }
    bool grouped() const { return flag("enable_gqa"); }
    const TensorType& type(std::string_view name) const { return *graph_[*tensor(name)].type; }

    Axis add_axis(std::int64_t extent) {
        call_.extents.push_back(extent);
        return static_cast<Axis>(call_.extents.size() - 1);
    }

    PlacedTensor placed(std::string_view name, const Shape& batch, Axis row, Axis column) const {
        return placed(*tensor(name), batch, row, column);
    }
    PlacedTensor placed(ValueId value, Shape shape, Axis row, Axis column) const {
        const TensorType& type = *graph_[value].type;
        for (std::size_t i = 0; i < shape.size(); ++i)
            if (!varies(type, i)) shape[i].clear();
        shape.push_back({row});
        shape.push_back({column});
        return {value, std::move(shape)};
    }

    // Why the operator is left to torch, or "".
    std::string unsupported() const {
        if (graph::number_argument(node_, "dropout_p").value_or(0) != 0)
            return "active dropout draws random numbers: it stays with torch";
        std::vector<ValueId> values{node_.outputs.front()};
        for (const auto name : {"query", "key", "value"})
            if (const auto value = tensor(name)) values.push_back(*value);
        if (values.size() < 4) return "its operands are not plain tensors";
        for (const ValueId value : values) {
            const auto& found = graph_[value].type;
            if (!found) return fmt::format("{} is not a tensor", graph_[value].name);
            if (found->dynamic)
                return fmt::format("the extents of {} vary at run time", graph_[value].name);
            if (std::ranges::find(found->sizes, 0) != found->sizes.end())
                return fmt::format("{} is empty", graph_[value].name);
        }
        const TensorType &q = type("query"), &k = type("key"), &v = type("value");
        if (q.dtype != DType::bf16 && q.dtype != DType::f16 && q.dtype != DType::f32)
            return fmt::format("attention over {} is left to torch: kernels take bf16, f16 and f32",
                               info(q.dtype).name);
        if (k.dtype != q.dtype || v.dtype != q.dtype)
            return "its operands have different element types";
        const std::size_t rank = q.sizes.size();
        if (rank < 2 || rank > 4 || k.sizes.size() != rank || v.sizes.size() != rank)
            return "its operands differ in rank, or do not have 2 to 4 dimensions";
        for (std::size_t i = 0; i + 2 < rank; ++i) {
            if (!varies(q, i) && (varies(k, i) || varies(v, i)))
                return "its queries are broadcast along a batch dimension of the keys or values";
            if (grouped() && (k.sizes[i] != v.sizes[i] || q.sizes[i] % k.sizes[i] != 0))
                return "its keys and values differ in their number of heads, or its number of "
                       "query heads is not a multiple of that";
        }
        return "";
    }

    // A bool mask shows the scores where it is true, any other mask is added to them; both are
    // broadcast against the scores. Returns why the mask is not supported, or "".
    std::string read_mask(const Shape& batch) {
        const auto mask = tensor("attn_mask");
        if (!mask) return "";
        const auto& type = graph_[*mask].type;
        if (!type || type->dynamic || type->sizes.size() > batch.size() + 2)
            return "its mask is not a tensor of known sizes";
        Shape shape = batch;
        shape.push_back({call_.m});
        shape.push_back({call_.n});
        shape.erase(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(type->sizes.size()));
        for (std::size_t i = 0; i < shape.size(); ++i)
            if (!varies(*type, i)) shape[i].clear();
        const auto meaning =
            type->dtype == DType::boolean ? MaskMeaning::show_where : MaskMeaning::add;
        const auto known = known_.of(*mask);
        const auto sight = known ? sight_of(*known, meaning, shape,
                                            {call_.m, call_.n, call_.extent(call_.m),
                                             call_.extent(call_.n), kHidden})
                                 : std::nullopt;
        if (!sight) {
            call_.masks.push_back(
                {{*mask, shape}, meaning, -std::numeric_limits<double>::infinity()});
            call_.empty_rows_are_zero = true;  // as torch's operator, unlike a softmax, has it
            return "";
        }
        call_.sight.narrow(*sight);
        call_.copied = known_.producers_of(*mask);
        return "";
    }

    const Graph& graph_;
    KnownValues& known_;
    const Node& node_;
    AttentionCall call_;
};

}  // namespace

std::vector<Axis> AttentionCall::batch() const {
    std::vector<Axis> found;
    for (const auto& axes : q.shape)
        for (const Axis axis : axes)
            if (axis != m && axis != d) found.push_back(axis);
    return found;
}

Axis AttentionCall::split(Axis axis, std::int64_t inner) {
    const auto added = static_cast<Axis>(extents.size());
    extents.push_back(inner);
    extents[static_cast<std::size_t>(axis)] /= inner;
    const auto refine = [&](PlacedTensor& tensor) {
        for (auto& axes : tensor.shape)
            if (const auto at = std::ranges::find(axes, axis); at != axes.end())
                axes.insert(at + 1, added);
    };
    for (PlacedTensor* tensor : {&q, &k, &v, &result}) refine(*tensor);
    for (AttentionMask& mask : masks) refine(mask.tensor);
    return added;
}

bool is_attention(const Node& node) {
    return node.target == kTarget;
}

Result<AttentionCall> read_attention(const Graph& graph, KnownValues& known, NodeId node) {
    return CallReader(graph, known, node).read();
}

}  // namespace fact::match

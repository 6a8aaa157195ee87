#include "match/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/arguments.h"
#include "match/write.h"
#include "sol/work.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;
using ir::ExprId;

namespace {

constexpr std::string_view kTarget = "aten.scaled_dot_product_attention.default";

// A tensor and the name of each of its dimensions; "" where it is broadcast.
struct Named {
    ValueId value{};
    std::vector<std::string> dims;
};

class Writer {
  public:
    Writer(const Graph& graph, const Facts& facts, NodeId node)
        : graph_(graph), facts_(facts), node_(graph[node]), build_(kernel_) {
        nodes_.insert(node);
    }

    Result<AttentionPattern> write(const Options& options, const GpuSpec& gpu) {
        if (std::string reason = unsupported(); !reason.empty()) return Error{reason, ""};
        name_dims();
        const ValueId result = node_.outputs.front();
        std::vector<Named> operands{{*tensor("query"), rows(q(), "M", "D")},
                                    {*tensor("key"), rows(k(), "N", "D")},
                                    {*tensor("value"), rows(v(), "N", depth_)}};
        static constexpr const char* kNames[] = {"q", "k", "v"};
        std::vector<ExprId> loaded;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const Placed seen = look_through(graph_, facts_, nodes_, placed(operands[i]));
            const auto laid = lay(seen, kNames[i]);
            if (!laid) return laid.error();
            loaded.push_back(load(operands[i]));
        }
        write_attention(loaded);
        if (std::string reason = write_result({result, rows(type(result), "M", depth_)});
            !reason.empty())
            return Error{reason, ""};
        if (std::string wrong = ir::verify(kernel_); !wrong.empty())
            throw InternalError(fmt::format("{} gives a bad kernel: {}", node_.name, wrong));

        const std::vector<NodeId> nodes(nodes_.begin(), nodes_.end());
        AttentionPattern found{
            nodes, assemble(graph_, nodes, {result}, {kernel_, extents_, params_, results_})};
        found.pattern.rule = "attention";
        found.pattern.where = node_.where;
        describe(found.pattern, options, gpu);
        finish(found.pattern);
        return found;
    }

  private:
    std::optional<ValueId> tensor(std::string_view name) const {
        return graph::tensor_argument(node_, name);
    }
    bool flag(std::string_view name) const { return graph::flag_argument(node_, name, false); }
    std::optional<double> number(std::string_view name) const {
        return graph::number_argument(node_, name);
    }
    const TensorType& type(ValueId value) const { return *graph_[value].type; }
    const TensorType& q() const { return type(*tensor("query")); }
    const TensorType& k() const { return type(*tensor("key")); }
    const TensorType& v() const { return type(*tensor("value")); }

    std::string unsupported() const {
        if (number("dropout_p").value_or(0) != 0)
            return "active dropout draws random numbers: it stays with torch";
        if (flag("enable_gqa")) return "grouped heads that torch repeats are left to it";
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
        const DType dtype = q().dtype;
        if (dtype != DType::bf16 && dtype != DType::f16 && dtype != DType::f32)
            return fmt::format("attention over {} is left to torch", info(dtype).name);
        if (k().dtype != dtype || v().dtype != dtype) return "its operands differ in type";
        if (tensor("attn_mask"))
            return "masks are left to torch: rows that see nothing are 0 there and NaN in a kernel";
        const std::size_t rank = q().sizes.size();
        if (rank < 2 || rank > 4 || k().sizes.size() != rank || v().sizes.size() != rank)
            return "its operands differ in rank, or have too many dimensions";
        const auto varies = [](const TensorType& tensor, std::size_t dim) {
            return tensor.strides[dim] != 0 && tensor.sizes[dim] != 1;
        };
        for (std::size_t i = 0; i + 2 < rank; ++i)
            if (!varies(q(), i) && (varies(k(), i) || varies(v(), i)))
                return "its queries are the same for several keys or values";
        return "";
    }

    void name_dims() {
        const auto& sizes = q().sizes;
        const std::size_t rank = sizes.size();
        static constexpr const char* kBatch[] = {"B", "H"};
        for (std::size_t i = 0; i + 2 < rank; ++i) {
            batch_.push_back(kBatch[i]);
            // Each operand may be the one that is repeated.
            extents_[kBatch[i]] = type(node_.outputs.front()).sizes[i];
        }
        extents_["M"] = sizes[rank - 2];
        extents_["D"] = sizes[rank - 1];
        extents_["N"] = k().sizes[rank - 2];
        depth_ = v().sizes[rank - 1] == sizes[rank - 1] ? "D" : "E";
        extents_[depth_] = v().sizes[rank - 1];
    }

    // The dimensions of a tensor that ends in these two, batches matched from the right.
    std::vector<std::string> rows(const TensorType& tensor, const std::string& row,
                                  const std::string& column) const {
        const std::size_t rank = tensor.sizes.size();
        std::vector<std::string> dims(rank);
        for (std::size_t i = 0; i < rank; ++i) {
            const std::size_t from_right = rank - 1 - i;
            const bool matrix = from_right < 2;
            const std::string& name = from_right == 0   ? column
                                      : from_right == 1 ? row
                                                        : batch_[batch_.size() - (from_right - 1)];
            const bool repeated = tensor.strides[i] == 0 || tensor.sizes[i] == 1;
            if (!repeated || (matrix && extents_.at(name) == tensor.sizes[i])) dims[i] = name;
        }
        return dims;
    }

    Placed placed(const Named& named) const {
        Placed tensor{named.value, {}};
        for (const auto& name : named.dims) {
            auto& axes = tensor.shape.emplace_back();
            if (!name.empty()) axes.push_back(axis(name));
        }
        return tensor;
    }

    int axis(const std::string& name) const {
        return static_cast<int>(std::distance(extents_.begin(), extents_.find(name)));
    }
    std::string name_of(int axis) const { return std::next(extents_.begin(), axis)->first; }

    // Dimensions in memory order; adds the parameter.
    Result<Laid> lay(const Placed& tensor, const std::string& name) {
        Laid laid{tensor.value, {}, {}, 16};
        const TensorType& own = type(tensor.value);
        std::vector<int> order;
        for (std::size_t i = 0; i < tensor.shape.size(); ++i)
            if (!tensor.shape[i].empty()) order.push_back(static_cast<int>(i));
        const auto stride = [&](int dim) {
            const auto at = static_cast<std::size_t>(dim);
            return own.sizes[at] == 1 ? std::numeric_limits<std::int64_t>::max() : own.strides[at];
        };
        std::ranges::stable_sort(order, std::ranges::greater(), stride);
        if (order.empty() ||
            (stride(order.back()) != 1 && own.sizes[static_cast<std::size_t>(order.back())] != 1))
            return Error{fmt::format("{} has no contiguous dimension", graph_[tensor.value].name),
                         ""};
        std::int64_t together = own.offset;
        std::vector<ir::DimId> dims;
        for (const int dim : order) {
            laid.dims.push_back({dim});
            dims.push_back(
                kernel_.dim(name_of(tensor.shape[static_cast<std::size_t>(dim)].front())));
            if (dim != order.back()) together = std::gcd(together, stride(dim));
        }
        if (together != 0)
            laid.alignment =
                static_cast<int>(std::gcd(together * info(own.dtype).bytes, std::int64_t{16}));
        auto& list = name == "y" ? results_ : params_;
        list.push_back(bind(graph_, facts_, name, laid));
        if (name != "y") kernel_.params.push_back({name, {own.dtype, dims}, {}});
        result_dims_ = std::move(dims);
        return laid;
    }

    // The last parameter as the operator sees it.
    ExprId load(const Named& named) {
        std::vector<ir::DimId> dims;
        for (const auto& name : named.dims)
            if (!name.empty()) dims.push_back(kernel_.dim(name));
        return build_.permute(build_.param(static_cast<std::uint32_t>(kernel_.params.size() - 1)),
                              dims);
    }

    void write_attention(const std::vector<ExprId>& operands) {
        ir::Attention node{
            operands[0],
            operands[1],
            operands[2],
            {},
            flag("is_causal"),
            number("scale").value_or(1 / std::sqrt(static_cast<double>(extents_.at("D"))))};
        value_ = build_.attention(node);
        kernel_.exprs[ir::index(value_)].name = "o";
        kernel_.name = node.causal ? "sdpa_causal" : "sdpa";
    }

    std::string write_result(const Named& named) {
        const auto laid = lay(placed(named), "y");
        if (!laid) return laid.error().message;
        std::vector<ir::DimId> has = kernel_[value_].type.dims, wanted = result_dims_;
        for (const ir::DimId dim : wanted)
            if (std::ranges::find(has, dim) == has.end())
                return "a dimension of its result is in no operand";
        const ExprId stored = build_.permute(value_, wanted);
        kernel_.outputs.push_back({{"y", {q().dtype, wanted}, {}}, stored});
        return "";
    }

    void describe(Pattern& pattern, const Options& options, const GpuSpec& gpu) const {
        schedule::Problem& problem = pattern.problem;
        problem.operands = problem.output = q().dtype;
        problem.m = extents_.at("M");
        problem.n = extents_.at("N");
        problem.k = extents_.at("D");
        for (const auto& name : batch_) problem.batch *= extents_.at(name);
        const auto work = sol::attention_work(q(), k(), v(), flag("is_causal"));
        pattern.cost.flops = work.flops;
        pattern.cost.bytes = sol::stored_bytes(q()) +
                             work.keys_read * (sol::stored_bytes(k()) + sol::stored_bytes(v())) +
                             sol::stored_bytes(type(node_.outputs.front()));
        pattern.cost.unfused_bytes = pattern.cost.bytes;
        const auto bound = [&](sol::Unit unit) {
            return sol::kernel_bound({pattern.cost.flops, pattern.cost.bytes, unit}, gpu);
        };
        const auto fused = bound(sol::kernel_unit(q().dtype, options.allow_tf32));
        pattern.cost.hard_us = fused.hard_us;
        pattern.cost.bound_us = fused.calibrated_us;
        pattern.cost.unfused_us =
            bound(sol::torch_unit(q().dtype, options.allow_tf32)).calibrated_us;
        pattern.cost.expected_us = pattern.cost.bound_us;
    }

    const Graph& graph_;
    const Facts& facts_;
    const Node& node_;
    ir::Kernel kernel_;
    ir::Builder build_;
    std::set<NodeId> nodes_;
    std::vector<std::string> batch_;
    std::string depth_;  // the dimension of v's columns
    std::map<std::string, std::int64_t> extents_;
    std::vector<graph::Binding> params_, results_;
    std::vector<ir::DimId> result_dims_;
    ExprId value_{};
};

}  // namespace

bool is_attention(const Node& node) {
    return node.target == kTarget;
}

Result<AttentionPattern> attention_pattern(const Graph& graph, const Facts& facts, NodeId node,
                                           const Options& options, const GpuSpec& gpu) {
    return Writer(graph, facts, node).write(options, gpu);
}

}  // namespace fact::match

#include "match/attention/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "lower/pipeline/lower.h"
#include "match/attention/cost.h"
#include "match/attention/write_mask.h"
#include "match/text/cost.h"
#include "match/text/write.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;
using ir::ExprId;

namespace {

using Dims = std::vector<ir::DimId>;

class AttentionWriter {
  public:
    AttentionWriter(const Graph& graph, const Facts& facts, const AttentionCall& call)
        : graph_(graph), facts_(facts), call_(call), build_(kernel_) {}

    Result<AttentionPattern> write(const Options& options, const GpuSpec& gpu) {
        const DType dtype = type(call_.q).dtype;
        for (const PlacedTensor* tensor : {&call_.k, &call_.v, &call_.result})
            if (type(*tensor).dtype != dtype)
                return Error{"its operands have different element types", ""};
        for (const PlacedTensor* tensor : operands())
            if (const auto producer = graph_[tensor->value].producer;
                producer && (call_.nodes.contains(*producer) || call_.copied.contains(*producer)))
                return Error{
                    "one of its operands is computed from an intermediate value of this attention",
                    ""};
        if (std::string reason = name_axes(); !reason.empty()) return Error{reason, ""};
        std::vector<ExprId> loaded;
        for (const auto& [name, tensor, row, column] : {std::tuple{"q", &call_.q, call_.m, call_.d},
                                                        {"k", &call_.k, call_.n, call_.d},
                                                        {"v", &call_.v, call_.n, call_.e}}) {
            const auto read = load(*tensor, name, row, column);
            if (!read) return read.error();
            loaded.push_back(*read);
        }
        ir::Attention node{loaded[0], loaded[1], loaded[2], {}, call_.sight.causal, call_.scale};
        node.window = call_.sight.window;
        node.empty_rows_are_zero = call_.empty_rows_are_zero;
        if (options.tf32.products && dtype == DType::f32) node.precision = ir::Precision::tf32;
        node.cap = call_.cap;
        for (const AttentionMask& mask : call_.masks) {
            const auto term = added_term(mask);
            if (!term) return term.error();
            node.bias = node.bias ? sum(*node.bias, *term) : *term;
        }
        kernel_.name = fmt::format("sdpa{}{}{}{}", call_.sight.causal ? "_causal" : "",
                                   call_.sight.window ? "_window" : "", call_.cap ? "_cap" : "",
                                   call_.masks.empty() ? "" : "_bias");
        if (auto done = write_result(node); !done) return done.error();
        ir::drop_dead(kernel_);
        if (std::string wrong = ir::verify(kernel_); !wrong.empty())
            throw InternalError(
                fmt::format("{} gives a bad kernel: {}", graph_[call_.node].name, wrong));
        return assembled(options, gpu);
    }

  private:
    std::vector<const PlacedTensor*> operands() const {
        std::vector<const PlacedTensor*> all{&call_.q, &call_.k, &call_.v};
        for (const AttentionMask& mask : call_.masks) {
            if (!mask.source)
                all.push_back(&mask.tensor);
            else
                for (const PlacedTensor& part : mask.source->reads) all.push_back(&part);
        }
        return all;
    }

    const TensorType& type(const PlacedTensor& tensor) const { return *graph_[tensor.value].type; }

    // The axes of a dimension that appear in the text: all but those of extent one that have no
    // name.
    std::vector<Axis> significant(const std::vector<Axis>& axes) const {
        std::vector<Axis> kept;
        for (const Axis axis : axes)
            if (names_.contains(axis) || call_.extent(axis) != 1) kept.push_back(axis);
        return kept;
    }

    // Names the batch axes. An axis that is outermost in some dimension of a tensor gets a letter,
    // because its extent can be computed from that tensor; any other is named by its extent. The
    // outer factor of a split dimension (grouped heads, G*8) is called G. Returns why an axis
    // cannot be named, or "".
    std::string name_axes() {
        const auto operands = this->operands();
        const auto is_outermost = [&](Axis axis) {
            return std::ranges::any_of(operands, [&](const PlacedTensor* tensor) {
                return std::ranges::any_of(tensor->shape, [&](const auto& axes) {
                    return !axes.empty() && axes.front() == axis;
                });
            });
        };
        batch_ = call_.batch();
        std::vector<std::string> unused_letters{"B", "H", "P", "S"};
        std::ranges::reverse(unused_letters);
        std::set<std::int64_t> used_extents;  // that are names of axes
        for (std::size_t i = 0; i < batch_.size(); ++i) {
            const Axis axis = batch_[i];
            if (!is_outermost(axis)) {
                if (!used_extents.insert(call_.extent(axis)).second)
                    return fmt::format(
                        "two of its split head dimensions both have length {}, so their names "
                        "would be equal",
                        call_.extent(axis));
                names_[axis] = fmt::format("{}", call_.extent(axis));
                continue;
            }
            const bool outer = i + 1 < batch_.size() && !is_outermost(batch_[i + 1]);
            if (!outer && unused_letters.empty()) return "it has more than four batch dimensions";
            if (outer && extents_.contains("G"))
                return "its heads are grouped along two dimensions";
            names_[axis] = outer ? "G" : unused_letters.back();
            if (!outer) unused_letters.pop_back();
            extents_[names_[axis]] = call_.extent(axis);
        }
        names_[call_.m] = "M";
        names_[call_.n] = "N";
        names_[call_.d] = "D";
        names_[call_.e] = call_.extent(call_.e) == call_.extent(call_.d) ? "D" : "E";
        for (const Axis axis : {call_.m, call_.n, call_.d, call_.e})
            extents_[names_[axis]] = call_.extent(axis);
        for (const PlacedTensor* tensor : {&call_.k, &call_.v, &call_.result})
            for (const auto& axes : tensor->shape)
                for (const Axis axis : significant(axes))
                    if (!names_.contains(axis))
                        return "its keys or values have a batch dimension that its queries lack";
        return "";
    }

    ir::DimId dim(Axis axis) { return kernel_.dim(names_.at(axis)); }
    ir::DimId dim(const std::vector<Axis>& axes) {
        Dims factors;
        for (const Axis axis : axes) factors.push_back(dim(axis));
        return kernel_.factored_dim(factors);
    }

    // A tensor as the kernel declares it, outermost dimension first.
    struct MemoryOrder {
        KernelTensor tensor;
        Dims dims;               // of the kernel
        std::vector<Axis> axes;  // of all these dimensions, in order
    };
    Result<MemoryOrder> memory_order(const PlacedTensor& tensor) {
        MemoryOrder order{{tensor.value, {}, {}, 16}, {}, {}};
        const TensorType& own = type(tensor);
        std::vector<int> read_dims;
        for (std::size_t i = 0; i < tensor.shape.size(); ++i)
            if (!significant(tensor.shape[i]).empty()) read_dims.push_back(static_cast<int>(i));
        // The stride of a dimension of extent one is arbitrary: it goes outermost.
        const auto stride = [&](int at) {
            const auto i = static_cast<std::size_t>(at);
            return own.sizes[i] == 1 ? std::numeric_limits<std::int64_t>::max() : own.strides[i];
        };
        std::ranges::stable_sort(read_dims, std::ranges::greater(), stride);
        if (read_dims.empty() || (stride(read_dims.back()) != 1 &&
                                  own.sizes[static_cast<std::size_t>(read_dims.back())] != 1))
            return Error{fmt::format("{} has no contiguous dimension", graph_[tensor.value].name),
                         ""};
        std::vector<std::int64_t> strides;  // of dimensions with more than one element
        for (const int at : read_dims) {
            const auto axes = significant(tensor.shape[static_cast<std::size_t>(at)]);
            order.tensor.dims.push_back({at});
            order.dims.push_back(dim(axes));
            order.axes.insert(order.axes.end(), axes.begin(), axes.end());
            if (own.sizes[static_cast<std::size_t>(at)] > 1) strides.push_back(stride(at));
        }
        order.tensor.alignment = graph::alignment(own.offset, strides, own.dtype);
        return order;
    }

    Dims dims(const std::vector<Axis>& axes) {
        Dims out;
        for (const Axis axis : axes) out.push_back(dim(axis));
        return out;
    }

    // Adds a parameter and loads it with the dimension order of ir::Attention: batches, row,
    // column.
    Result<ExprId> load(const PlacedTensor& tensor, const std::string& name, Axis row,
                        Axis column) {
        const auto order = memory_order(tensor);
        if (!order) return order.error();
        kernel_.params.push_back({name, {type(tensor).dtype, order->dims}, {}});
        params_.push_back(bind(graph_, facts_, name, order->tensor));
        std::vector<Axis> wanted = batch_;
        wanted.insert(wanted.end(), {row, column});
        std::erase_if(wanted, [&](Axis axis) {
            return std::ranges::find(order->axes, axis) == order->axes.end();
        });
        const ExprId param = build_.param(static_cast<std::uint32_t>(kernel_.params.size() - 1));
        return build_.permute(build_.view(param, dims(order->axes)), dims(wanted));
    }

    // The term that stands for the mask in the sum with the scores.
    Result<ExprId> added_term(const AttentionMask& mask) {
        const auto read = mask.source ? computed_mask(mask)
                                      : load(mask.tensor, name_mask(mask.tensor), call_.m, call_.n);
        if (!read || mask.meaning == MaskMeaning::add) return read;
        const ExprId low = build_.literal(mask.low), zero = build_.literal(0.0);
        const bool hides = mask.meaning == MaskMeaning::hide_where;
        return build_.select(*read, hides ? low : zero, hides ? zero : low);
    }

    // A mask that the kernel computes from smaller tensors.
    Result<ExprId> computed_mask(const AttentionMask& mask) {
        return write_mask(graph_, kernel_, *mask.source, mask.tensor.value, score_dims(),
                          [&](const PlacedTensor& part) {
                              return load(part, name_mask(part), call_.m, call_.n);
                          });
    }

    std::string name_mask(const PlacedTensor& tensor) const {
        const std::string stem = type(tensor).dtype == DType::boolean ? "mask" : "bias";
        std::string name = stem;
        for (int i = 1;
             std::ranges::find(kernel_.params, name, &ir::Tensor::name) != kernel_.params.end();
             ++i)
            name = fmt::format("{}{}", stem, i);
        return name;
    }

    Dims score_dims() {
        std::vector<Axis> axes = batch_;
        axes.insert(axes.end(), {call_.m, call_.n});
        return dims(axes);
    }

    ExprId sum(ExprId a, ExprId b) {
        std::vector<ExprId> terms{a, b};
        expand_one_operand(kernel_, terms, score_dims());
        return build_.binary(ir::BinaryOp::add, terms[0], terms[1]);
    }

    Result<> write_result(const ir::Attention& node) {
        const ExprId value = build_.attention(node);
        kernel_.exprs[ir::index(value)].name = "o";
        const auto order = memory_order(call_.result);
        if (!order) return order.error();
        const Dims wanted = dims(order->axes), has = kernel_[value].type.dims;
        if (wanted.size() != has.size() || !std::ranges::is_permutation(wanted, has))
            return Error{"its result has a dimension that none of q, k and v has", ""};
        const ExprId stored = build_.view(build_.permute(value, wanted), order->dims);
        kernel_.outputs.push_back({{"y", {type(call_.result).dtype, order->dims}, {}}, stored});
        results_.push_back(bind(graph_, facts_, "y", order->tensor));
        return Ok{};
    }

    AttentionPattern assembled(const Options& options, const GpuSpec& gpu) {
        std::set<NodeId> all = call_.nodes, own = call_.nodes;
        all.insert(call_.copied.begin(), call_.copied.end());
        // Copied operators whose results only this attention uses become nodes of the pattern.
        for (auto id = call_.copied.rbegin(); id != call_.copied.rend(); ++id)
            if (std::ranges::all_of(graph_[*id].outputs, [&](ValueId value) {
                    return only_used_in(facts_, value, own);
                }))
                own.insert(*id);
        AttentionPattern found;
        found.nodes.assign(own.begin(), own.end());
        std::ranges::set_difference(all, own, std::back_inserter(found.copied));
        Pattern& pattern = found.pattern;
        const WrittenKernel written{kernel_, extents_, params_, results_};
        pattern = assemble(graph_, {all.begin(), all.end()}, {call_.result.value}, written);
        pattern.nodes.clear();
        for (const NodeId id : found.nodes) pattern.nodes.push_back(graph_[id].name);
        for (const NodeId id : found.copied) pattern.copied.push_back(graph_[id].name);
        pattern.rule = "attention";
        pattern.where = graph_[call_.node].where;
        pattern.problem = problem();
        pattern.cost = cost_of(graph_, found.nodes, call_, written, options, gpu);
        set_priority_and_family(graph_, pattern);
        found.one_kernel = one_kernel(written, options);
        return found;
    }

    schedule::Problem problem() const {
        schedule::Problem problem;
        problem.operands = problem.output = type(call_.q).dtype;
        problem.m = call_.extent(call_.m);
        problem.n = call_.extent(call_.n);
        problem.k = call_.extent(call_.d);
        for (const Axis axis : batch_) problem.batch *= call_.extent(axis);
        return problem;
    }

    // See AttentionPattern::one_kernel.
    bool one_kernel(const WrittenKernel& written, const Options& options) const {
        lower::LowerOptions lowering =
            lowering_of(kernel_, written.extents, written.params, written.results);
        lowering.arch = options.arch;
        const auto stages = lower::stages(kernel_, lowering);
        if (!stages || stages->stages.back().kind != lower::StageKind::attention) return false;
        // A kernel before it may write the bias in another layout, but not if that copy is as large
        // as the scores, which attention in one kernel keeps out of memory.
        double scores = 1;
        for (const Axis axis : batch_) scores *= static_cast<double>(call_.extent(axis));
        scores *= static_cast<double>(call_.extent(call_.m) * call_.extent(call_.n));
        return std::ranges::all_of(stages->intermediates, [&](const ir::Tensor& tensor) {
            return elements(written, tensor.type.dims) < scores;
        });
    }

    const Graph& graph_;
    const Facts& facts_;
    const AttentionCall& call_;
    ir::Kernel kernel_;
    ir::Builder build_;
    std::vector<Axis> batch_;
    std::map<Axis, std::string> names_;
    std::map<std::string, std::int64_t> extents_;
    std::vector<graph::Binding> params_, results_;
};

}  // namespace

Result<AttentionPattern> write_attention(const Graph& graph, const Facts& facts,
                                         const AttentionCall& call, const Options& options,
                                         const GpuSpec& gpu) {
    return AttentionWriter(graph, facts, call).write(options, gpu);
}

}  // namespace fact::match

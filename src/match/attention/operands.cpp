// Reads operands of attention as they were before operators that only move, repeat or scale them,
// and writes its result as it is after operators that only move it. Declared in call.h.
#include <fmt/format.h>

#include <algorithm>

#include "graph/arguments.h"
#include "graph/operators.h"
#include "match/attention/call.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

// The call, with one operand read from before some of the operators that produce it.
struct WalkState {
    AttentionCall call;
    int saved = 0;  // copies, repetitions and factors that need not be computed

    // The number of axes that are not the outermost one of their dimension.
    std::size_t num_merged(PlacedTensor AttentionCall::* operand) const {
        std::size_t count = 0;
        for (const auto& axes : (call.*operand).shape)
            if (!axes.empty()) count += axes.size() - 1;
        return count;
    }
};

// The shape of an operand, which has the sizes `current`, viewed with `sizes`. Splits axes if
// necessary; nullopt if that is not possible.
std::optional<Shape> regroup_axes(AttentionCall& call, PlacedTensor AttentionCall::* operand,
                                  const std::vector<std::int64_t>& sizes,
                                  const std::vector<std::int64_t>& current) {
    // A broadcast dimension has no axis that could be regrouped.
    for (std::size_t i = 0; i < current.size(); ++i)
        if ((call.*operand).shape[i].empty() && current[i] != 1) return std::nullopt;
    Shape shape(sizes.size());
    std::size_t assigned = 0;  // how many axes have been assigned to dimensions
    const auto axes = [&] {
        std::vector<Axis> all;
        for (const auto& dim : (call.*operand).shape)
            for (const Axis axis : dim)
                if (call.extent(axis) != 1) all.push_back(axis);
        return all;
    };
    for (std::size_t i = 0; i < sizes.size(); ++i)
        for (std::int64_t left = sizes[i]; left > 1;) {
            const auto all = axes();
            if (assigned == all.size()) return std::nullopt;
            const Axis axis = all[assigned];
            if (call.extent(axis) > left) {
                const bool fixed =  // only batch axes may be split
                    axis == call.m || axis == call.n || axis == call.d || axis == call.e;
                if (fixed || call.extent(axis) % left != 0) return std::nullopt;
                call.split(axis, call.extent(axis) / left);
            }
            if (left % call.extent(axis) != 0) return std::nullopt;
            left /= call.extent(axis);
            shape[i].push_back(axis);
            ++assigned;
        }
    return shape;
}

class Walker {
  public:
    Walker(const Graph& graph, const Facts& facts) : graph_(graph), facts_(facts) {}

    // The call with the operand read from where most operators are saved and, among such places,
    // where the fewest axes are merged.
    AttentionCall walk(const AttentionCall& from, PlacedTensor AttentionCall::* operand) {
        WalkState state{from}, best{from};
        while (step(state, operand))
            if (state.saved > best.saved || (state.saved == best.saved &&
                                             state.num_merged(operand) <= best.num_merged(operand)))
                best = state;
        return best.call;
    }

  private:
    // Goes back by one node; false if the kernel cannot do without that node.
    bool step(WalkState& state, PlacedTensor AttentionCall::* operand) {
        PlacedTensor& tensor = state.call.*operand;
        const auto producer = graph_[tensor.value].producer;
        if (!producer || !only_used_in(facts_, tensor.value, state.call.nodes)) return false;
        const Node& node = graph_[*producer];
        const auto source = graph::tensor_argument(node, "self");
        if (!source || node.outputs.size() != 1 || !graph_[*source].type) return false;
        const auto &now = *graph_[tensor.value].type, &before = *graph_[*source].type;
        if (now.dtype != before.dtype || before.dynamic) return false;
        Shape shape;
        if (node.target == "aten.permute.default") {
            const auto dims = graph::ints_argument(node, "dims");
            shape.resize(dims.size());
            for (std::size_t i = 0; i < dims.size(); ++i)
                shape[static_cast<std::size_t>(dims[i])] = tensor.shape[i];
        } else if (node.target == "aten.clone.default") {
            shape = tensor.shape;
            ++state.saved;
        } else if (node.target == "aten.expand.default") {
            const std::size_t added = now.sizes.size() - before.sizes.size();
            shape.assign(tensor.shape.begin() + static_cast<std::ptrdiff_t>(added),
                         tensor.shape.end());
            for (std::size_t i = 0; i < shape.size(); ++i)
                if (before.sizes[i] != now.sizes[i + added]) shape[i].clear();
            ++state.saved;
        } else if (graph::is_reshape(node)) {
            AttentionCall with_splits = state.call;
            const auto viewed = regroup_axes(with_splits, operand, before.sizes, now.sizes);
            if (!viewed) return false;
            state.call = std::move(with_splits);
            shape = *viewed;
        } else if (const auto factor = factor_of(node); factor && operand != &AttentionCall::v) {
            shape = tensor.shape;  // a factor of q or k is also one of the scores
            state.call.scale *= *factor;
            ++state.saved;
        } else {
            return false;
        }
        state.call.nodes.insert(*producer);
        state.call.*operand = {*source, std::move(shape)};
        return true;
    }

    // The positive number by which the node multiplies all elements.
    static std::optional<double> factor_of(const Node& node) {
        const bool times = node.target.starts_with("aten.mul.");
        if (!times && !node.target.starts_with("aten.div.")) return std::nullopt;
        if (graph::find_argument(node, "rounding_mode")) return std::nullopt;
        const auto number = graph::number_argument(node, "other");
        if (!number || *number <= 0) return std::nullopt;
        return times ? *number : 1 / *number;
    }

    const Graph& graph_;
    const Facts& facts_;
};

bool has_only_single_axes(const PlacedTensor& tensor) {
    return std::ranges::all_of(tensor.shape, [](const auto& axes) { return axes.size() <= 1; });
}

// Moves the result past the one node that reads it, and sets `copies` if that node is a copy; false
// if there are several readers, or if the node does more than move data.
bool step_forward(const Graph& graph, const Facts& facts, AttentionCall& call, bool& copies) {
    const ValueId value = call.result.value;
    const auto& readers = facts.users[graph::index(value)];
    if (facts.escapes[graph::index(value)] || readers.size() != 1) return false;
    const Node& node = graph[readers.front()];
    copies = node.target == "aten.clone.default";
    const bool permutes = node.target == "aten.permute.default";
    if (!copies && !permutes && !graph::is_reshape(node)) return false;
    const ValueId next = node.outputs.front();
    const auto &now = *graph[value].type, &after = *graph[next].type;
    if (after.dynamic || after.dtype != now.dtype) return false;
    Shape shape = call.result.shape;
    if (permutes) {
        const auto dims = graph::ints_argument(node, "dims");
        for (std::size_t i = 0; i < dims.size(); ++i)
            shape[i] = call.result.shape[static_cast<std::size_t>(dims[i])];
    } else if (!copies) {
        const auto viewed = regroup_axes(call, &AttentionCall::result, after.sizes, now.sizes);
        if (!viewed) return false;
        shape = *viewed;
    }
    call.nodes.insert(readers.front());
    call.result = {next, std::move(shape)};
    return true;
}

// Repeats `pass` until it adds no node to the call: a node that one operand adds may have been the
// only other reader of another operand.
template <class Pass>
void until_fixpoint(const AttentionCall& call, Pass pass) {
    for (std::size_t before = 0; before != call.nodes.size();) {
        before = call.nodes.size();
        pass();
    }
}

constexpr PlacedTensor AttentionCall::* kOperands[] = {&AttentionCall::q, &AttentionCall::k,
                                                       &AttentionCall::v};

}  // namespace

void look_through_permutes(const Graph& graph, const Facts& facts, AttentionCall& call) {
    until_fixpoint(call, [&] {
        for (const auto operand : kOperands)
            call.*operand = before_permutes(graph, facts, call.nodes, call.*operand);
        for (AttentionMask& mask : call.masks)
            mask.tensor = before_permutes(graph, facts, call.nodes, mask.tensor);
    });
}

void look_through_movement(const Graph& graph, const Facts& facts, AttentionCall& call) {
    until_fixpoint(call, [&] {
        for (const auto operand : kOperands) call = Walker(graph, facts).walk(call, operand);
        for (AttentionMask& mask : call.masks)
            mask.tensor = before_permutes(graph, facts, call.nodes, mask.tensor);
    });
}

bool compute_masks_in_kernel(const Graph& graph, KnownValues& known, AttentionCall& call) {
    bool any = false;
    for (AttentionMask& mask : call.masks) {
        mask.source = find_mask_source(graph, known, mask.tensor, call.extents);
        if (!mask.source) continue;
        any = true;
        call.copied.insert(mask.source->nodes.begin(), mask.source->nodes.end());
        call.copied.insert(mask.source->number_nodes.begin(), mask.source->number_nodes.end());
    }
    return any;
}

void move_result_forward(const Graph& graph, const Facts& facts, AttentionCall& call) {
    AttentionCall moved = call;
    bool found = has_only_single_axes(call.result), copies = false;
    while (step_forward(graph, facts, moved, copies)) {
        if (!has_only_single_axes(moved.result) || (found && !copies)) continue;
        call = moved;
        found = true;
    }
}

}  // namespace fact::match

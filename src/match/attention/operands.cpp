// How far back the operands of attention can be read, and how far on its result can be written:
// through whatever only moves or repeats them.
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

// One operand on its way back, with the whole call: what it takes along and what it takes apart.
struct Way {
    AttentionCall call;
    int saved = 0;  // copies and factors that need not be computed

    // Axes that share a dimension with another one before them.
    std::size_t merged(Placed AttentionCall::* operand) const {
        std::size_t count = 0;
        for (const auto& axes : (call.*operand).shape)
            if (!axes.empty()) count += axes.size() - 1;
        return count;
    }
};

// The axes of a tensor handed out over other sizes, in order; axes are split where they must be.
std::optional<Shape> regrouped(AttentionCall& call, Placed AttentionCall::* operand,
                               const std::vector<std::int64_t>& sizes,
                               const std::vector<std::int64_t>& before) {
    // A repeated dimension has no axis to hand out.
    for (std::size_t i = 0; i < before.size(); ++i)
        if ((call.*operand).shape[i].empty() && before[i] != 1) return std::nullopt;
    Shape shape(sizes.size());
    std::size_t taken = 0;  // of the axes in order, those that are handed out
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
            if (taken == all.size()) return std::nullopt;
            const Axis axis = all[taken];
            if (call.extent(axis) > left) {
                const bool whole =  // what a row or a feature is must not change
                    axis == call.m || axis == call.n || axis == call.d || axis == call.e;
                if (whole || call.extent(axis) % left != 0) return std::nullopt;
                call.split(axis, call.extent(axis) / left);
            }
            if (left % call.extent(axis) != 0) return std::nullopt;
            left /= call.extent(axis);
            shape[i].push_back(axis);
            ++taken;
        }
    return shape;
}

class Walker {
  public:
    Walker(const Graph& graph, const Facts& facts) : graph_(graph), facts_(facts) {}

    // The call with the operand read from as far back as saves most, and is plainest.
    AttentionCall walk(const AttentionCall& from, Placed AttentionCall::* operand) {
        Way way{from}, best{from};
        while (step(way, operand))
            if (way.saved > best.saved ||
                (way.saved == best.saved && way.merged(operand) <= best.merged(operand)))
                best = way;
        return best.call;
    }

  private:
    // One node back; false where the operand is made by something else.
    bool step(Way& way, Placed AttentionCall::* operand) {
        Placed& tensor = way.call.*operand;
        const auto producer = graph_[tensor.value].producer;
        if (!producer || !only_used_in(facts_, tensor.value, way.call.nodes)) return false;
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
            ++way.saved;
        } else if (node.target == "aten.expand.default") {
            const std::size_t added = now.sizes.size() - before.sizes.size();
            shape.assign(tensor.shape.begin() + static_cast<std::ptrdiff_t>(added),
                         tensor.shape.end());
            for (std::size_t i = 0; i < shape.size(); ++i)
                if (before.sizes[i] != now.sizes[i + added]) shape[i].clear();
            ++way.saved;
        } else if (graph::is_reshape(node)) {
            AttentionCall apart = way.call;
            const auto handed = regrouped(apart, operand, before.sizes, now.sizes);
            if (!handed) return false;
            way.call = std::move(apart);
            shape = *handed;
        } else if (const auto factor = factor_of(node); factor && operand != &AttentionCall::v) {
            shape = tensor.shape;
            way.call.scale *= *factor;
            ++way.saved;
        } else {
            return false;
        }
        way.call.nodes.insert(*producer);
        way.call.*operand = {*source, std::move(shape)};
        return true;
    }

    // A positive number that all elements are multiplied by.
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

bool apart(const Placed& tensor) {
    return std::ranges::all_of(tensor.shape, [](const auto& axes) { return axes.size() <= 1; });
}

// One node further on; false where the result is read by several, or by something else.
bool step_on(const Graph& graph, const Facts& facts, AttentionCall& call, bool& copies) {
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
        const auto handed = regrouped(call, &AttentionCall::result, after.sizes, now.sizes);
        if (!handed) return false;
        shape = *handed;
    }
    call.nodes.insert(readers.front());
    call.result = {next, std::move(shape)};
    return true;
}

// What one operand takes along may be what another one waited for.
template <class Pass>
void until_fixpoint(const AttentionCall& call, Pass pass) {
    for (std::size_t before = 0; before != call.nodes.size();) {
        before = call.nodes.size();
        pass();
    }
}

constexpr Placed AttentionCall::* kOperands[] = {&AttentionCall::q, &AttentionCall::k,
                                                 &AttentionCall::v};

}  // namespace

void read_permuted(const Graph& graph, const Facts& facts, AttentionCall& call) {
    until_fixpoint(call, [&] {
        for (const auto operand : kOperands)
            call.*operand = look_through(graph, facts, call.nodes, call.*operand);
        for (AttentionMask& mask : call.masks)
            mask.tensor = look_through(graph, facts, call.nodes, mask.tensor);
    });
}

void read_as_it_lies(const Graph& graph, const Facts& facts, AttentionCall& call) {
    until_fixpoint(call, [&] {
        for (const auto operand : kOperands) call = Walker(graph, facts).walk(call, operand);
        for (AttentionMask& mask : call.masks)
            mask.tensor = look_through(graph, facts, call.nodes, mask.tensor);
    });
}

bool take_masks_apart(const Graph& graph, KnownValues& known, AttentionCall& call) {
    bool any = false;
    for (AttentionMask& mask : call.masks) {
        mask.source = find_mask_source(graph, known, mask.tensor, call.extents);
        if (!mask.source) continue;
        any = true;
        call.copied.insert(mask.source->nodes.begin(), mask.source->nodes.end());
        call.copied.insert(mask.source->numbered.begin(), mask.source->numbered.end());
    }
    return any;
}

void write_where_wanted(const Graph& graph, const Facts& facts, AttentionCall& call) {
    AttentionCall way = call;
    bool placed = apart(call.result), copies = false;
    while (step_on(graph, facts, way, copies)) {
        if (!apart(way.result) || (placed && !copies)) continue;
        call = way;
        placed = true;
    }
}

}  // namespace fact::match

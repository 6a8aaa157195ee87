// Attention spelled out with single operators: product, scale and mask in any order, softmax,
// product. Defines read_attention_chain() of call.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/arguments.h"
#include "graph/operators.h"
#include "match/attention/call.h"
#include "match/attention/mask.h"
#include "match/operators/call_formula.h"
#include "match/operators/rowwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

// A mask on the scores, as an argument of a node of the chain.
struct MaskUse {
    NodeId node{};
    std::string argument;
    MaskMeaning meaning{};
    double low = -std::numeric_limits<double>::infinity();  // replaces a hidden score
    double later_scale = 1;  // by which the masked scores are multiplied afterwards
};

bool has_axis(const Shape& shape, Axis axis) {
    return std::ranges::any_of(
        shape, [&](const auto& axes) { return std::ranges::find(axes, axis) != axes.end(); });
}

// What an operator does to the scores.
enum class Effect { multiply, divide, cap, mask };
// An operator that may stand between the first product and the softmax. fits(), take() and
// take_mask() look up its arguments by the names in these formulas.
struct Step {
    CallFormula call;
    Effect effect;
};
const std::vector<Step>& steps() {
    static const std::vector<Step> all{
        {"mul(scores, factor)", Effect::multiply},
        {"mul(factor, scores)", Effect::multiply},
        {"div(scores, factor)", Effect::divide},
        {"tanh(scores)", Effect::cap},
        {"add(scores, added)", Effect::mask},
        {"add(added, scores)", Effect::mask},
        {"masked_fill(scores, hides, low)", Effect::mask},
        {"where(shows, scores, low)", Effect::mask},
        {"where(hides, low, scores)", Effect::mask},
    };
    return all;
}

class ChainReader {
  public:
    ChainReader(const Graph& graph, const Facts& facts, KnownValues& known, Anchor anchor)
        : graph_(graph),
          facts_(facts),
          known_(known),
          anchor_(std::move(anchor)),
          space_(anchor_.space),
          value_(anchor_.result),
          scale_(anchor_.alpha) {
        nodes_.insert(anchor_.node);
    }

    std::optional<AttentionCall> read() {
        // An addend of the product, which is the only side operand so far, is a mask.
        if (anchor_.addend && anchor_.beta != 0) {
            if (anchor_.beta != 1) return std::nullopt;
            const auto& side = space_.sides().front();
            masks_.push_back({side.node, side.argument, MaskMeaning::add});
        }
        while (!softmax_) {
            const auto next = only_reader();
            if (!next || !take_before_softmax(*next)) return std::nullopt;
        }
        std::optional<NodeId> next = only_reader();
        while (next && reorders_or_rounds(*next)) {
            if (!absorb(*next)) return std::nullopt;
            next = only_reader();
        }
        if (!next || !is_anchor(graph_[*next]) || !take_second_product(*next)) return std::nullopt;
        return make_call();
    }

  private:
    // The node that reads the current value, if exactly one does and reads it once.
    std::optional<NodeId> only_reader() const {
        const auto& readers = facts_.users[graph::index(value_)];
        if (facts_.escapes[graph::index(value_)] || readers.size() != 1) return std::nullopt;
        const auto reads = graph::tensor_inputs(graph_[readers.front()]);
        return std::ranges::count(reads, value_) == 1 ? std::optional(readers.front())
                                                      : std::nullopt;
    }

    bool absorb(NodeId id) {
        if (!space_.absorb(graph_, id).empty()) return false;
        nodes_.insert(id);
        value_ = graph_[id].outputs.front();
        return true;
    }

    // Whether the node only moves the scores or casts them to a floating type. Such casts round
    // intermediate values, which the kernel keeps in f32.
    bool reorders_or_rounds(NodeId id) const {
        const Node& node = graph_[id];
        const auto motion = graph::facts_of(node).motion;
        if (motion == graph::Motion::reshape || motion == graph::Motion::permute ||
            node.target == "aten.clone.default")
            return true;
        return node.target == "aten._to_copy.default" &&
               info(graph_[node.outputs.front()].type->dtype).floating;
    }

    // Adds a node before the softmax, or the softmax; false if it cannot be part of the chain.
    bool take_before_softmax(NodeId id) {
        const Node& node = graph_[id];
        if (const RowwiseOp* op = find_rowwise(node)) {
            if (op->kind != RowwiseKind::softmax || !absorb(id)) return false;
            softmax_ = id;
            return true;
        }
        for (const Step& step : steps())
            if (const auto call = step.call.read(node); call && fits(*call))
                return take(step.effect, id, *call) && absorb(id);
        return reorders_or_rounds(id) && absorb(id);
    }

    using Call = CallFormula::Arguments;

    std::optional<ValueId> tensor(const Call& call, std::string_view name) const {
        const auto at = call.find(name);
        const auto* value = at == call.end() ? nullptr : std::get_if<ValueId>(&at->second->value);
        return value ? std::optional(*value) : std::nullopt;
    }

    // A number, given as such or as a tensor that repeats a known number.
    std::optional<double> number(const Call& call, std::string_view name) const {
        const auto at = call.find(name);
        if (at == call.end()) return std::nullopt;
        if (const auto literal = graph::as_number(at->second->value)) return literal;
        const auto value = tensor(call, name);
        const auto known = value ? known_.of(*value) : std::nullopt;
        return known ? known->number() : std::nullopt;
    }

    // Whether `scores` is the current value, `factor` and `low` are known numbers, and all other
    // arguments are tensors.
    bool fits(const Call& call) const {
        return std::ranges::all_of(call, [&](const auto& argument) {
            const std::string& name = argument.first;
            if (name == "scores") return tensor(call, name) == value_;
            if (name == "factor" || name == "low") return number(call, name).has_value();
            return tensor(call, name).has_value();
        });
    }

    bool take(Effect effect, NodeId id, const Call& call) {
        switch (effect) {
            case Effect::multiply:
                return take_scale(id, *number(call, "factor"), true);
            case Effect::divide:
                return take_scale(id, *number(call, "factor"), false);
            case Effect::cap:
                return take_cap();
            case Effect::mask:
                return take_mask(id, call);
        }
        throw InternalError("take: no such effect on scores");
    }

    // cap * tanh(scale / cap * s): the factor before the tanh is scale / cap, the one after it cap.
    bool take_cap() {
        if (scale_before_tanh_ || !masks_.empty()) return false;
        scale_before_tanh_ = std::exchange(scale_, 1);
        return true;
    }

    // Multiplies or divides the scores by the factor.
    bool take_scale(NodeId id, double factor, bool multiplies) {
        // Hidden scores stay hidden only if the factor is positive.
        if (factor <= 0) return false;
        scale_ = multiplies ? scale_ * factor : scale_ / factor;
        for (MaskUse& mask : masks_) mask.later_scale *= multiplies ? factor : 1 / factor;
        // The factor may be a constant tensor: then the kernel replaces the nodes that compute it.
        for (const ValueId value : graph::tensor_inputs(graph_[id]))
            if (value != value_) copy_producers_of(value);
        return true;
    }

    bool take_mask(NodeId id, const Call& call) {
        const auto use = [&](std::string_view name, MaskMeaning meaning) {
            masks_.push_back({id, call.find(name)->second->name, meaning});
            if (const auto low = number(call, "low")) masks_.back().low = *low;
            return true;
        };
        if (tensor(call, "added")) return use("added", MaskMeaning::add);
        return tensor(call, "hides") ? use("hides", MaskMeaning::hide_where)
                                     : use("shows", MaskMeaning::show_where);
    }

    // Adds the second product, weights @ v, and names its axes by those of the first.
    bool take_second_product(NodeId id) {
        const auto second = read_anchor(graph_, id);
        if (!second || second->alpha != 1 || (second->addend && second->beta != 0)) return false;
        const bool weights_left = second->a == value_;
        const Shape &weights = weights_left ? second->space.a : second->space.b,
                    &v_shape = weights_left ? second->space.b : second->space.a;
        const Shape weights_in_first = space_.shape(value_);
        std::map<Axis, std::vector<Axis>> first_axes;  // by axis of the second product
        for (std::size_t i = 0; i < weights.size(); ++i)
            if (!weights[i].empty()) first_axes[weights[i].front()] = weights_in_first[i];
        const auto& softmax_groups = space_.groups().at(*softmax_);
        if (softmax_groups.size() != 1 || softmax_groups[0].size() != 1) return false;
        if (first_axes[second->k] != softmax_groups[0]) return false;
        n_ = softmax_groups[0].front();
        const Shape& result = second->space.shape(second->result);
        std::optional<Axis> features;
        for (const auto& axes : result)
            for (const Axis axis : axes) {
                if (first_axes.contains(axis)) continue;
                if (has_axis(v_shape, axis)) {
                    if (features) return false;
                    features = axis;
                    e_ = space_.add_axis(second->space.extent(axis));
                    first_axes[axis] = {e_};
                } else if (second->space.extent(axis) == 1) {
                    first_axes[axis] = {};
                } else {
                    return false;
                }
            }
        if (!features) return false;
        const auto translated = [&](const Shape& shape) {
            Shape out(shape.size());
            for (std::size_t i = 0; i < shape.size(); ++i)
                for (const Axis axis : shape[i]) {
                    const auto& axes = first_axes.at(axis);
                    out[i].insert(out[i].end(), axes.begin(), axes.end());
                }
            return out;
        };
        second_product_ = id;
        space_.add_side({id, "v", weights_left ? second->b : second->a, translated(v_shape)});
        space_.place(second->result, translated(result));
        nodes_.insert(id);
        value_ = second->result;
        return true;
    }

    const SideUse& side(NodeId node, std::string_view argument) const {
        return *std::ranges::find_if(space_.sides(), [&](const SideUse& side) {
            return side.node == node && side.argument == argument;
        });
    }

    std::optional<AttentionCall> make_call() {
        AttentionCall call;
        call.node = *softmax_;
        call.scale = scale_before_tanh_ ? *scale_before_tanh_ * scale_ : scale_;
        if (scale_before_tanh_) call.cap = scale_;
        call.n = n_;
        call.e = e_;
        call.d = anchor_.k;
        call.q = {anchor_.a, space_.a};
        call.k = {anchor_.b, space_.b};
        // The operand with the columns is the keys.
        if (has_axis(call.q.shape, n_)) std::swap(call.q, call.k);
        std::optional<Axis> rows;
        for (const auto& axes : call.q.shape)
            for (const Axis axis : axes)
                if (axis != call.d && !has_axis(call.k.shape, axis)) rows = axis;
        if (!rows || !has_axis(call.k.shape, n_)) return std::nullopt;
        call.m = *rows;
        const SideUse& v = side(second_product_, "v");
        call.v = {v.value, v.shape};
        call.result = {value_, space_.shape(value_)};
        for (const MaskUse& mask : masks_)
            if (!apply(mask, call)) return std::nullopt;
        for (Axis axis = 0; axis < space_.num_axes(); ++axis)
            call.extents.push_back(space_.extent(axis));
        call.nodes = nodes_;
        call.copied = copied_;
        return call;
    }

    // Adds the mask to the call; false if the kernel could not apply it as torch does.
    bool apply(const MaskUse& use, AttentionCall& call) {
        const SideUse& mask = side(use.node, use.argument);
        // If the masked scores are scaled down afterwards, only a lower number hides a score.
        const double hidden = kHidden / std::min(use.later_scale, 1.0);
        if (use.low > hidden) return false;  // `low` would not hide a score
        const auto known = known_.of(mask.value);
        const auto sight =
            known ? sight_of(*known, use.meaning, mask.shape,
                             {call.m, n_, space_.extent(call.m), space_.extent(n_), hidden})
                  : std::nullopt;
        if (!sight) {
            const DType dtype = graph_[mask.value].type->dtype;
            const bool adds = use.meaning == MaskMeaning::add;
            if (adds ? !info(dtype).floating || dtype == DType::f64 : dtype != DType::boolean)
                return false;
            // With a finite `low`, a wholly hidden row gets equal weights in torch, but not in the
            // kernel. An added mask that is scaled afterwards would have to be scaled here too.
            if (adds ? use.later_scale != 1 : std::isfinite(use.low)) return false;
            call.masks.push_back({{mask.value, mask.shape}, use.meaning, use.low});
            return true;
        }
        // Two masks together may hide a whole row. Torch and the kernel then agree only if hidden
        // scores are -inf.
        const bool hidden_are_finite =
            use.meaning == MaskMeaning::add
                ? std::ranges::any_of(*known->elements,
                                      [&](double x) { return x <= hidden && std::isfinite(x); })
                : std::isfinite(use.low);
        if (!sight->is_all() && hidden_are_finite && masks_.size() > 1) return false;
        call.sight.narrow(*sight);
        copy_producers_of(mask.value);
        // `low` may be a tensor too.
        for (const ValueId value : graph::tensor_inputs(graph_[use.node]))
            if (!space_.contains(value) && known_.of(value)) copy_producers_of(value);
        return true;
    }

    void copy_producers_of(ValueId value) {
        const auto producers = known_.producers_of(value);
        copied_.insert(producers.begin(), producers.end());
    }

    const Graph& graph_;
    const Facts& facts_;
    KnownValues& known_;
    Anchor anchor_;
    Space space_;
    ValueId value_{};  // the current value: the last one of the chain so far
    double scale_ = 1;
    // The scale before a tanh, if there is one; scale_ is then the scale after it.
    std::optional<double> scale_before_tanh_;
    std::vector<MaskUse> masks_;
    std::optional<NodeId> softmax_;
    NodeId second_product_{};
    Axis n_ = 0, e_ = 0;
    std::set<NodeId> nodes_, copied_;
};

}  // namespace

std::optional<AttentionCall> read_attention_chain(const Graph& graph, const Facts& facts,
                                                  KnownValues& known, NodeId product) {
    auto anchor = read_anchor(graph, product);
    if (!anchor || anchor->form == graph::ProductForm::linear ||
        anchor->form == graph::ProductForm::convolution)
        return std::nullopt;
    return ChainReader(graph, facts, known, std::move(*anchor)).read();
}

}  // namespace fact::match

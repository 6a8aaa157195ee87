#include "agent/learned_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "agent/generalize.h"
#include "dsl/cuda_text.h"
#include "graph/arguments.h"
#include "match/text/write.h"
#include "support/hash.h"
#include "support/json_fields.h"

namespace fact::agent {

namespace {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using Json = nlohmann::json;

constexpr int kFormat = 1;  // of a rule's JSON

// One match of a rule's operators with a graph's.
class Overlay {
  public:
    Overlay(const Graph& rule, const Graph& graph, const std::vector<std::vector<NodeId>>& users)
        : rule_(rule), graph_(graph), users_(users) {}

    // Matches the rule's last operator with `anchor`, and from there all others; false if they do
    // not fit.
    bool lay(NodeId anchor) {
        nodes_.clear();
        values_.clear();
        const auto last = static_cast<NodeId>(rule_.nodes.size() - 1);
        if (!same(last, anchor)) return false;
        // Operators that the last one does not depend on are found as readers of values that are
        // matched already; each match may make another one possible. Later operators are tried
        // first, since matching one also matches what it reads.
        for (bool progress = true; progress;) {
            progress = false;
            for (std::size_t i = rule_.nodes.size(); i-- > 0;) {
                const auto id = static_cast<NodeId>(i);
                progress |= !nodes_.contains(id) && find_beside(id);
            }
        }
        return nodes_.size() == rule_.nodes.size();
    }

    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (const auto& [from, to] : nodes_) out.push_back(graph_[to].name);
        return out;
    }
    ValueId value(ValueId of_rule) const { return values_.at(of_rule); }

  private:
    // Matches the rule's operator `id` with a reader of a value that is matched already.
    bool find_beside(NodeId id) {
        for (const ValueId read : graph::tensor_inputs(rule_[id])) {
            const auto at = values_.find(read);
            if (at == values_.end()) continue;
            for (const NodeId reader : users_[graph::index(at->second)]) {
                const auto nodes = nodes_;
                const auto values = values_;
                if (same(id, reader)) return true;
                nodes_ = nodes;
                values_ = values;
            }
        }
        return false;
    }

    // same(), same_value() and so on match a part of the rule with a part of the graph, and note
    // what was matched; false if the two differ.
    bool same(NodeId from, NodeId to) {
        if (const auto known = nodes_.find(from); known != nodes_.end()) return known->second == to;
        for (const auto& [other, taken] : nodes_)
            if (taken == to) return false;
        const Node &a = rule_[from], &b = graph_[to];
        if (a.target != b.target || a.inputs.size() != b.inputs.size() ||
            a.outputs.size() != b.outputs.size())
            return false;
        nodes_.emplace(from, to);
        for (std::size_t i = 0; i < a.outputs.size(); ++i)
            if (!same_value(a.outputs[i], b.outputs[i])) return false;
        for (std::size_t i = 0; i < a.inputs.size(); ++i)
            if (a.inputs[i].name != b.inputs[i].name ||
                !same_argument(a, a.inputs[i].value, b, b.inputs[i].value))
                return false;
        return true;
    }

    bool same_value(ValueId from, ValueId to) {
        const auto [at, added] = values_.emplace(from, to);
        if (!added) return at->second == to;
        const auto &a = rule_[from].type, &b = graph_[to].type;
        return a && b && a->dtype == b->dtype && a->sizes.size() == b->sizes.size();
    }

    bool same_tensor(ValueId from, ValueId to) {
        if (!same_value(from, to)) return false;
        const auto a = rule_[from].producer, b = graph_[to].producer;
        if (!a) return true;  // an input of the rule may be anything
        return b && same(*a, *b);
    }

    bool same_argument(const Node& node, const Argument& from, const Node& other,
                       const Argument& to) {
        if (from.index() != to.index()) return false;
        if (const auto* one = std::get_if<ValueId>(&from))
            return same_tensor(*one, std::get<ValueId>(to));
        if (const auto* list = std::get_if<std::vector<ValueId>>(&from)) {
            const auto& others = std::get<std::vector<ValueId>>(to);
            if (list->size() != others.size()) return false;
            for (std::size_t i = 0; i < list->size(); ++i)
                if (!same_tensor((*list)[i], others[i])) return false;
            return true;
        }
        if (std::holds_alternative<std::vector<std::optional<ValueId>>>(from))
            return false;  // indices of a lookup: the text does not say which dimensions they index
        if (std::holds_alternative<graph::DeviceArg>(from)) return true;
        return from == to || says_extents(node, from, other, to);
    }

    // Whether both arguments are extents of their nodes' results: all of them, the last ones, or
    // equal multiples of the extent of the sliced dimension (the start and end of a slice).
    bool says_extents(const Node& node, const Argument& from, const Node& other,
                      const Argument& to) const {
        if (node.outputs.empty()) return false;
        const auto &a = rule_[node.outputs.front()].type->sizes,
                   &b = graph_[other.outputs.front()].type->sizes;
        const auto a_list = as_list(from), b_list = as_list(to);
        if (a_list.empty() || a_list.size() != b_list.size()) return false;
        const bool several = std::holds_alternative<Ints>(from);
        if (several && ends_with(a, a_list) && ends_with(b, b_list)) return true;
        const auto dim = graph::int_argument(node, "dim");
        if (!dim || dim != graph::int_argument(other, "dim")) return false;
        const auto rank = static_cast<std::int64_t>(a.size());
        const auto at = static_cast<std::size_t>(*dim < 0 ? *dim + rank : *dim);
        if (at >= a.size()) return false;
        for (std::size_t i = 0; i < a_list.size(); ++i)
            if (a[at] == 0 || b[at] == 0 || a_list[i] % a[at] != 0 || b_list[i] % b[at] != 0 ||
                a_list[i] / a[at] != b_list[i] / b[at])
                return false;
        return true;
    }

    using Ints = std::vector<std::int64_t>;
    static Ints as_list(const Argument& argument) {
        if (const auto* one = std::get_if<std::int64_t>(&argument)) return {*one};
        const auto* list = std::get_if<Ints>(&argument);
        return list ? *list : Ints{};
    }
    static bool ends_with(const Ints& sizes, const Ints& list) {
        return list.size() <= sizes.size() &&
               std::equal(list.rbegin(), list.rend(), sizes.rbegin());
    }

    const Graph &rule_, &graph_;
    const std::vector<std::vector<NodeId>>& users_;
    // What was matched: by the rule's operator or value, the graph's.
    std::map<NodeId, NodeId> nodes_;
    std::map<ValueId, ValueId> values_;
};

// The interface of a match, with the tensor names of the rule's text; nullopt if the match has
// other inputs or outputs than the rule.
std::optional<Interface> renamed(const Graph& graph, const NodeSet& set, const LearnedRule& rule,
                                 const Overlay& overlay) {
    auto interface = interface_of(graph, set);
    const auto rename = [&](std::vector<Tensor>& tensors, const std::vector<ValueId>& values,
                            const std::vector<std::string>& names) {
        if (tensors.size() != names.size()) return false;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto at = std::ranges::find(tensors, overlay.value(values[i]), &Tensor::value);
            if (at == tensors.end()) return false;
            at->name = names[i];
        }
        return true;
    };
    std::vector<ValueId> inputs, outputs;
    for (const auto& input : rule.original.inputs) inputs.push_back(input.value);
    for (const auto& output : rule.original.outputs) outputs.push_back(*output.value);
    if (!rename(interface.params, inputs, rule.params) ||
        !rename(interface.results, outputs, rule.results))
        return std::nullopt;
    return interface;
}

// The hash of a rule's content, with which its name ends.
std::string content_hash(const LearnedRule& rule) {
    graph::FusedCall call;
    call.original = rule.original;
    const Json content{rule.text, rule.params, rule.results,
                       graph::to_json(graph::without_names(std::move(call)))};
    return short_hash(content.dump()).substr(0, 10);
}

}  // namespace

LearnedRule rule_of(const Graph& graph, const NodeSet& set, const match::Pattern& pattern,
                    std::string evidence) {
    LearnedRule rule;
    rule.evidence = std::move(evidence);
    rule.original = graph::extract(graph, set.nodes, set.inputs, set.outputs);
    const auto interface =
        with_kernel_names(interface_of(graph, set), graph, pattern.params, pattern.results);
    rule.text = generalize(pattern.kernel, rule.original, pattern.extents, [&](const auto& text) {
        Diagnostics ignored;
        return interface && author(graph, set, text, {}, ignored, &*interface).ok();
    });
    // A rule may be shared: it must not contain paths of its author's files.
    for (auto& node : rule.original.nodes) node.where = {};
    const auto called = [](const std::vector<graph::Binding>& bindings, const std::string& value) {
        const auto at = std::ranges::find(bindings, value, &graph::Binding::value);
        return at == bindings.end() ? std::string() : at->tensor;
    };
    for (const auto value : set.inputs)
        rule.params.push_back(called(pattern.params, graph[value].name));
    for (const auto value : set.outputs)
        rule.results.push_back(called(pattern.results, graph[value].name));
    const auto kernel = pattern.family.substr(0, pattern.family.rfind('_'));
    rule.name = fmt::format("{}_{}", kernel, content_hash(rule));
    return rule;
}

std::vector<match::Pattern> find_matches(const Graph& graph, const LearnedRule& rule,
                                         const match::Options& options) {
    std::vector<match::Pattern> found;
    if (rule.original.nodes.empty()) return found;
    const auto users = graph::users(graph);
    Overlay overlay(rule.original, graph, users);
    std::set<std::string> taken;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        if (!overlay.lay(static_cast<NodeId>(i))) continue;
        const auto names = overlay.names();
        if (std::ranges::any_of(names, [&](const auto& name) { return taken.contains(name); }))
            continue;
        const auto set = node_set(graph, names);
        if (!set) continue;
        const auto interface = renamed(graph, *set, rule, overlay);
        if (!interface) continue;
        Diagnostics ignored;
        auto authored = author(graph, *set, rule.text, options, ignored, &*interface);
        if (!authored) continue;
        auto& pattern = authored->pattern;
        pattern.author = match::Author::learned;
        pattern.rule = name(pattern.author);
        pattern.id = fmt::format("k_{}_{}", rule.name, found.size());
        taken.insert(names.begin(), names.end());
        found.push_back(std::move(pattern));
    }
    return found;
}

std::string to_json(const LearnedRule& rule) {
    graph::FusedCall call;
    call.id = rule.name;
    call.original = rule.original;
    return Json{{"format", kFormat},
                {"name", rule.name},
                {"text", rule.text},
                {"evidence", rule.evidence},
                {"params", rule.params},
                {"results", rule.results},
                {"call", parse_json(graph::to_json(call))}}
               .dump(1) +
           "\n";
}

Result<LearnedRule> rule_from_json(std::string_view text) {
    auto read = decoding<LearnedRule>("not a learned rule", "", [&]() -> Result<LearnedRule> {
        const auto json = parse_json(text);
        if (get_int(json, "format") != kFormat)
            return Error{"this is a learned rule of another format", "learn it again", true};
        LearnedRule rule;
        rule.name = get_text(json, "name");
        rule.text = get_text(json, "text");
        if (dsl::cuda_source(rule.text))
            return Error{"a rule is a text of the kernel language, not CUDA", "", true};
        rule.evidence = get_text(json, "evidence");
        rule.params = get_texts(json, "params");
        rule.results = get_texts(json, "results");
        auto call = graph::fused_call_from_json(field(json, "call").dump());
        if (!call) return blame_input(call.error());
        rule.original = std::move(call->original);
        const bool sound = rule.params.size() == rule.original.inputs.size() &&
                           rule.results.size() == rule.original.outputs.size() &&
                           graph::verify(rule.original).empty();
        if (!sound) return Error{"the rule's tensors are not those of its operators", "", true};
        if (!rule.name.ends_with("_" + content_hash(rule)))
            return Error{fmt::format("the rule's content does not match its name {}", rule.name),
                         "rules cannot be edited; learn a new one", true};
        return rule;
    });
    if (!read) return blame_input(read.error());
    return read;
}

}  // namespace fact::agent

// Graphs written by hand in the discovery tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "match/discover.h"

namespace fact::match::testing {

using graph::Argument;
using graph::ValueId;
using Sizes = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

inline Names ids(const Discovery& found) {
    Names names;
    for (const auto& pattern : found.patterns) names.push_back(pattern.id);
    return names;
}

// A kernel text without its first and last line.
inline std::string body(const Pattern& pattern) {
    const auto begin = pattern.kernel.find(" {\n") + 3;
    return pattern.kernel.substr(begin, pattern.kernel.rfind('}') - begin);
}

inline Sizes dense(const Sizes& sizes) {
    Sizes strides(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    return strides;
}

// Operators that are not in exactly one place: in patterns, left alone with a reason, or without
// work of their own.
inline std::vector<std::string> unaccounted(const graph::Graph& graph, const Discovery& found) {
    enum Place { pattern = 1, left = 2, idle = 4 };
    std::map<std::string, int> places;
    for (const auto& own : found.patterns) {
        for (const auto& node : own.nodes) places[node] |= pattern;
        for (const auto& node : own.copied) places[node] |= pattern;
    }
    std::vector<std::string> wrong;
    const auto add = [&](const std::vector<LeftAlone>& list, Place place) {
        for (const auto& node : list) {
            places[node.node] |= place;
            if (node.reason.empty()) wrong.push_back(node.node + " has no reason");
        }
    };
    add(found.left_alone, left);
    add(found.idle, idle);
    for (const auto& node : graph.nodes) {
        const int place = places[node.name];
        if (place != pattern && place != left && place != idle) wrong.push_back(node.name);
    }
    if (places.size() != graph.nodes.size()) wrong.push_back("a place for what is not there");
    return wrong;
}

// The graph with the result of its first operator of that kind shown as an output: attention whose
// softmax is shown stays in parts.
inline graph::Graph shown(graph::Graph graph, std::string_view target) {
    const auto node = std::ranges::find(graph.nodes, target, &graph::Node::target);
    if (node == graph.nodes.end()) throw std::runtime_error("no " + std::string(target));
    graph.outputs.push_back({.value = node->outputs.front(), .fixed = {}, .mutates = {}});
    return graph;
}

// Values are bf16 unless said otherwise; a node has the name of its output.
struct Net {
    graph::Graph graph;
    DType dtype = DType::bf16;

    ValueId input(const std::string& name, Sizes sizes, Sizes strides = {},
                  graph::InputKind kind = graph::InputKind::user) {
        const ValueId id = graph.add_value({name, type(sizes, strides), std::nullopt});
        graph.inputs.push_back({.value = id, .kind = kind, .fqn = name, .fixed = {}});
        return id;
    }
    ValueId weight(const std::string& name, Sizes sizes) {
        return input(name, std::move(sizes), {}, graph::InputKind::parameter);
    }
    ValueId op(const std::string& name, const std::string& target,
               std::vector<std::pair<std::string, Argument>> arguments, Sizes sizes,
               Sizes strides = {}) {
        const auto node = static_cast<graph::NodeId>(graph.nodes.size());
        const ValueId id = graph.add_value({name, type(sizes, strides), node});
        graph::Node written;
        written.target = "aten." + target;
        written.outputs = {id};
        written.name = name;
        for (auto& [argument, value] : arguments) written.inputs.push_back({argument, value});
        graph.nodes.push_back(std::move(written));
        return id;
    }
    // Another result of the node that makes `of`.
    ValueId also(ValueId of, const std::string& name, Sizes sizes) {
        const auto node = *graph[of].producer;
        const ValueId id = graph.add_value({name, type(sizes, {}), node});
        graph[node].outputs.push_back(id);
        return id;
    }
    // A pointwise operator of one tensor, or of two with "other", shaped like its first.
    ValueId pointwise(const std::string& name, const std::string& target, ValueId self) {
        const auto& like = *graph[self].type;
        return op(name, target, {{"self", self}}, like.sizes, like.strides);
    }
    ValueId pointwise(const std::string& name, const std::string& target, ValueId self,
                      Argument other) {
        const auto& like = *graph[self].type;
        return op(name, target, {{"self", self}, {"other", std::move(other)}}, like.sizes,
                  like.strides);
    }
    ValueId linear(const std::string& name, ValueId x, ValueId w) {
        Sizes sizes = graph[x].type->sizes;
        sizes.back() = graph[w].type->sizes.front();
        return op(name, "linear.default", {{"input", x}, {"weight", w}}, sizes);
    }
    ValueId permute(const std::string& name, ValueId x, Sizes dims) {
        const auto& from = *graph[x].type;
        Sizes sizes, strides;
        for (const auto dim : dims) {
            sizes.push_back(from.sizes[static_cast<std::size_t>(dim)]);
            strides.push_back(from.strides[static_cast<std::size_t>(dim)]);
        }
        return op(name, "permute.default", {{"self", x}, {"dims", dims}}, sizes, strides);
    }
    void output(ValueId id) {
        graph.outputs.push_back({.value = id, .fixed = graph::None{}, .mutates = {}});
    }
    Discovery discover(const Options& options = {}) const {
        auto found = match::discover(graph, options);
        EXPECT_EQ(unaccounted(graph, found), std::vector<std::string>());
        return found;
    }

  private:
    graph::TensorType type(const Sizes& sizes, const Sizes& strides) const {
        return {
            .dtype = dtype, .sizes = sizes, .strides = strides.empty() ? dense(sizes) : strides};
    }
};

inline std::string reason_for(const Discovery& discovery, const std::string& node) {
    for (const auto& left : discovery.left_alone)
        if (left.node == node) return left.reason;
    return "(not left alone)";
}

}  // namespace fact::match::testing

#include "match/linears/siblings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "dsl/dsl.h"
#include "graph/operators.h"
#include "match/norms/fold.h"
#include "match/operators/rowwise.h"
#include "match/text/write.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

bool is_dense_matrix(const graph::TensorType& type) {
    return type.sizes.size() == 2 && type.strides[1] == 1 && type.strides[0] == type.sizes[1];
}

std::int64_t columns_of(const Graph& graph, const Region& region) {
    return graph[region.anchor.b].type->sizes[0];
}

// Whether all readers of the value and of its views follow its strides, since a sibling's result is
// not contiguous. Torch's operators do, except as_strided.
bool readers_follow_strides(const Graph& graph, const Facts& facts, ValueId value) {
    std::vector<ValueId> open{value};
    while (!open.empty()) {
        const ValueId last = open.back();
        open.pop_back();
        if (facts.escapes[graph::index(last)]) return false;  // the caller may not follow them
        for (const NodeId id : facts.users[graph::index(last)]) {
            const graph::Node& user = graph[id];
            if (!user.target.starts_with("aten.") || user.target.starts_with("aten.as_strided"))
                return false;
            if (graph::is_plain_view(user))
                open.insert(open.end(), user.outputs.begin(), user.outputs.end());
        }
    }
    return true;
}

// Whether the linear may be joined with others. Multiples of 8 columns keep every linear's part of
// the joined 16-bit result aligned to 16 bytes.
bool may_join(const Graph& graph, const Facts& facts, const Region& region) {
    const Anchor& anchor = region.anchor;
    const auto constant = [&](ValueId value) { return bool{facts.constant[graph::index(value)]}; };
    return anchor.form == graph::ProductForm::linear && !anchor.cut && !region.second &&
           region.outputs.size() == 1 && info(graph[anchor.b].type->dtype).bytes == 2 &&
           is_dense_matrix(*graph[anchor.b].type) && region.b.value == anchor.b &&
           columns_of(graph, region) > 0 && columns_of(graph, region) % 8 == 0 &&
           constant(anchor.b) && (!anchor.addend || constant(*anchor.addend)) &&
           readers_follow_strides(graph, facts, region.outputs.front()) &&
           std::ranges::none_of(region.nodes,
                                [&](NodeId id) { return find_rowwise(graph[id]) != nullptr; });
}

// Whether the tensor runs over the outermost part of the columns, and so over all linears.
bool spans_columns(const Layout& layout, const KernelTensor& side) {
    const int outer = layout.n.front();
    return std::ranges::any_of(
        side.order, [&](const Atoms& dim) { return std::ranges::find(dim, outer) != dim.end(); });
}

// The kernel's parameters are the input, the weight, then the side operands.
enum class Kind { weight, bias, other };
Kind kind_of(const Layout& layout, std::size_t param) {
    if (param == 1) return Kind::weight;
    return param > 1 && spans_columns(layout, layout.sides[param - 2]) ? Kind::bias : Kind::other;
}

// Equal for regions that differ only in their weights, biases and numbers of columns; "" if nothing
// follows the linear or no kernel can be written.
std::string epilogue_key(const Graph& graph, const Facts& facts, const Region& region) {
    if (is_bare_linear(region)) return "";
    const auto layout = layout_of(graph, region);
    if (!layout) return "";
    const auto written = write_kernel(graph, facts, region, *layout, false);
    if (!written) return "";
    std::string text = dsl::to_text(written->kernel);
    for (std::size_t i = 0; i < written->params.size(); ++i) {
        if (kind_of(*layout, i) != Kind::other) continue;
        const auto& binding = written->params[i];
        text += binding.value;
        for (const auto& dims : binding.dims) text += fmt::format(" {}", fmt::join(dims, ","));
        if (const auto& half = binding.half)
            text += fmt::format(" half {} {} {}", half->dim, half->number, half->stepped);
        text += "\n";
    }
    for (const Atom& atom : layout->atoms)
        if (&atom != &layout->atoms[static_cast<std::size_t>(layout->n.front())])
            text += fmt::format("{}={}\n", atom.name, atom.extent);
    for (const auto& dims : written->results.front().dims)
        text += fmt::format("{} ", fmt::join(dims, ","));
    return text;
}

// Why linears with this layout cannot be one kernel, or "".
std::string reason_not_to_join(const Graph& graph, const Region& region, const Layout& layout) {
    if (layout.swapped) return "linears of one input are not joined if they are transposed";
    auto rows = layout.a.order;
    rows.back() = layout.n;
    if (layout.a.order.back() != layout.k || layout.results[0].order != rows ||
        layout.b.order != std::vector{layout.n, layout.k})
        return "linears of one input are joined only if their results have the input's memory "
               "layout";
    for (const KernelTensor& side : layout.sides)
        if (spans_columns(layout, side) && side.value != region.anchor.addend)
            return fmt::format("{} runs along the columns of one of the linears",
                               graph[side.value].name);
    return "";
}

// Binding::dims of a bare linear's result: for each dimension of the joined result, the dimensions
// of the linear's result, which has the input's dimensions.
Result<std::vector<std::vector<int>>> bare_dims(const Graph& graph, const Region& linear,
                                                const Layout& layout) {
    auto rows = graph[layout.a.value].type->sizes;
    auto result_rows = graph[linear.anchor.result].type->sizes;
    rows.pop_back(), result_rows.pop_back();
    if (rows != result_rows) return Error{"linears of one input read it in different shapes", ""};
    auto dims = layout.a.dims;
    dims.back() = {static_cast<int>(result_rows.size())};
    return dims;
}

}  // namespace

bool is_bare_linear(const Region& region) {
    return region.nodes.size() == 1;
}

std::vector<std::vector<Region>> siblings(const Graph& graph, const Facts& facts,
                                          const std::vector<Region>& linears) {
    constexpr std::size_t kMaxGroup = 8;  // more linears of one input are usually unrelated modules
    using Key = std::tuple<ValueId, bool, DType>;  // the input, whether with a bias, result type
    std::map<Key, std::map<std::string, std::vector<Region>>> found;
    for (const Region& region : linears)
        if (may_join(graph, facts, region)) {
            const Key key{region.anchor.a, region.anchor.addend.has_value(),
                          graph[region.outputs.front()].type->dtype};
            const std::string epilogue = epilogue_key(graph, facts, region);
            if (is_bare_linear(region) || !epilogue.empty()) found[key][epilogue].push_back(region);
        }
    std::vector<std::vector<Region>> groups;
    for (auto& [key, by_epilogue] : found) {
        // Linears followed by operators come before bare ones, then those with more columns.
        const auto preference = [&](const auto& entry) {
            std::int64_t total = 0;
            for (const Region& region : entry.second) total += columns_of(graph, region);
            return std::pair(!entry.first.empty(), total);
        };
        auto group = std::ranges::max_element(by_epilogue, {}, preference)->second;
        if (!is_bare_linear(group.front()))
            if (const auto bare = by_epilogue.find(""); bare != by_epilogue.end())
                group.insert(group.end(), bare->second.begin(), bare->second.end());
        if (group.size() > 1 && group.size() <= kMaxGroup) groups.push_back(std::move(group));
    }
    return groups;
}

Result<Pattern> write_siblings(const Graph& graph, const Facts& facts,
                               const std::vector<Region>& group, const Fold* fold,
                               const Options& options, const GpuSpec& gpu) {
    Region joined = group.front();
    joined.siblings.emplace();
    std::set<NodeId> nodes;
    std::vector<ValueId> outputs;
    for (const Region& region : group) {
        auto& [columns, plain_from] = *joined.siblings;
        if (is_bare_linear(region) && !is_bare_linear(group.front()) && !plain_from)
            plain_from = columns;
        columns += columns_of(graph, region);
        nodes.insert(region.nodes.begin(), region.nodes.end());
        outputs.push_back(region.outputs.front());
    }
    if (fold && !fold_into(graph, facts, *fold, joined, {nodes.begin(), nodes.end()}))
        return Error{"the norm is also used elsewhere", ""};
    const auto layout = layout_of(graph, joined);
    if (!layout) return layout.error();
    if (std::string why = reason_not_to_join(graph, joined, *layout); !why.empty())
        return Error{std::move(why), ""};
    auto written = write_kernel(graph, facts, joined, *layout, options.tf32.products);
    if (!written) return written.error();

    // The kernel's weight, bias and result are bound to those of all linears, one after another.
    const auto bind_all = [&](const graph::Binding& first, auto value_of) {
        std::vector<graph::Binding> parts;
        for (const Region& region : group) {
            parts.push_back(first);
            parts.back().value = graph[value_of(region)].name;
        }
        return parts;
    };
    std::vector<graph::Binding> params;
    for (std::size_t i = 0; i < written->params.size(); ++i) {
        const graph::Binding& param = written->params[i];
        std::vector<graph::Binding> parts{param};
        if (kind_of(*layout, i) == Kind::weight)
            parts = bind_all(param, [](const Region& region) { return region.anchor.b; });
        if (kind_of(*layout, i) == Kind::bias)
            parts = bind_all(param, [](const Region& region) { return *region.anchor.addend; });
        params.insert(params.end(), parts.begin(), parts.end());
    }
    written->params = std::move(params);
    for (std::size_t i = 1; i < group.size(); ++i) {
        auto part = written->results.front();
        part.value = graph[outputs[i]].name;
        if (is_bare_linear(group[i])) {
            auto dims = bare_dims(graph, group[i], *layout);
            if (!dims) return dims.error();
            part.dims = std::move(*dims);
        }
        written->results.push_back(std::move(part));
    }
    nodes.insert(joined.nodes.begin(), joined.nodes.end());
    joined.nodes.assign(nodes.begin(), nodes.end());
    joined.outputs = std::move(outputs);
    auto pattern = pattern_of(graph, joined, *layout, *written, options, gpu);
    if (pattern) pattern->rule = "linears";
    return pattern;
}

}  // namespace fact::match

// Actions that only read: the graph, its patterns, the module's source. Declared in
// driver/action_requests.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "agent/look.h"
#include "agent/node_set.h"
#include "driver/action_requests.h"
#include "driver/realize.h"
#include "support/files.h"

namespace fact::driver {

Result<Json> look(LoadedRun& loaded, const Json& request) {
    agent::LookRequest asked;
    const auto module = text_field(request, "module", false);
    if (!module) return module.error();
    const auto first = count_field(request, "first", 0);
    if (!first) return first.error();
    const auto count = count_field(request, "count", asked.count);
    if (!count) return count.error();
    asked.module = *module;
    asked.first = *first;
    asked.count = *count;
    const auto looked = agent::look(loaded.found.graph, loaded.bounds, asked);
    if (looked.all == 0 && !asked.module.empty())
        return Error{fmt::format("there is no operator in a module '{}'", asked.module),
                     "the lines of `look` end with the module paths", true};
    return Json{{"lines", looked.lines}, {"all", looked.all}, {"first", asked.first}};
}

Result<Json> patterns(LoadedRun& loaded, const Json&) {
    const auto realizations = read_realizations(loaded.run, loaded.found.discovery);
    if (!realizations) return realizations.error();
    Json list = Json::array(), left = Json::array();
    for (const auto& pattern : loaded.found.discovery.patterns) {
        Json entry{{"id", pattern.id},       {"rule", pattern.rule},
                   {"nodes", pattern.nodes}, {"where", graph::describe(pattern.where)},
                   {"text", pattern.kernel}, {"cost", cost_json(pattern.cost)}};
        const auto known = realizations->find(pattern.family);
        if (known != realizations->end()) {
            entry["realized"] = known->second.realized;
            if (!known->second.realized) entry["why"] = shortened(known->second.why);
            if (known->second.single.median_us > 0) {
                entry["time_us"] = known->second.single.median_us;
                entry["torch_us"] = known->second.baseline_single.median_us;
            }
        }
        list.push_back(std::move(entry));
    }
    for (const auto& alone : loaded.found.discovery.left_alone)
        left.push_back({{"node", alone.node}, {"operator", alone.target}, {"why", alone.reason}});
    return Json{{"patterns", list}, {"left_alone", left}};
}

Result<Json> source(LoadedRun& loaded, const Json& request) {
    const auto node_name = text_field(request, "node", true);
    if (!node_name) return node_name.error();
    const auto around = count_field(request, "around", 8);
    if (!around) return around.error();
    const auto& nodes = loaded.found.graph.nodes;
    const auto node = std::ranges::find(nodes, *node_name, &graph::Node::name);
    if (node == nodes.end())  // this Error suggests the nearest name
        return agent::node_set(loaded.found.graph, {*node_name}).error();
    if (node->where.line == 0)
        return Error{fmt::format("torch did not record where {} was written", *node_name), "",
                     true};
    const auto text = read_file(node->where.file);
    if (!text) return text.error();
    Json lines = Json::array();
    int number = 1;
    std::size_t begin = 0;
    while (begin < text->size()) {
        const auto end = std::min(text->find('\n', begin), text->size());
        if (std::abs(number - node->where.line) <= *around)
            lines.push_back(fmt::format("{:4} {}", number, text->substr(begin, end - begin)));
        begin = end + 1;
        ++number;
    }
    return Json{{"file", node->where.file}, {"line", node->where.line}, {"lines", lines}};
}

}  // namespace fact::driver

// The action that stores a set of operators as a proposal and describes its tensors; and how a
// proposal is found again. Declared in driver/action_requests.h.
#include <fmt/format.h>

#include "agent/proposal.h"
#include "driver/action_requests.h"
#include "support/files.h"
#include "support/json_fields.h"

namespace fact::driver {

namespace {

Json tensors_json(const graph::Graph& graph, const std::vector<agent::Tensor>& tensors) {
    Json list = Json::array();
    for (const auto& tensor : tensors) {
        const auto& type = *graph[tensor.value].type;
        Json dims = Json::array();
        for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
            const auto d = static_cast<std::size_t>(tensor.dims[i]);
            dims.push_back({{"name", tensor.dim_names[i]},
                            {"extent", type.sizes[d]},
                            {"stride", type.strides[d]}});
        }
        Json entry{{"name", tensor.name},
                   {"value", graph[tensor.value].name},
                   {"type", info(type.dtype).name},
                   {"dims", dims},
                   {"weight", tensor.constant}};
        if (!tensor.contiguous)
            entry["note"] = "its innermost dimension is not contiguous: kernels cannot read it";
        list.push_back(std::move(entry));
    }
    return list;
}

}  // namespace

Result<agent::NodeSet> find_proposal(const LoadedRun& loaded, const std::string& id) {
    const auto file = loaded.run.path() / "agent" / "proposals" / (id + ".json");
    const auto text = is_plain_name(id) ? read_file(file) : Result<std::string>(Error{"", ""});
    if (!text)
        return Error{fmt::format("there is no proposal '{}'", id), "`propose` its operators first",
                     true};
    const auto json = try_parse_json(*text);
    if (!json || !json->is_object())
        return Error{file.string() + " is damaged", "propose the same operators again", true};
    const auto names = names_field(*json, "nodes");
    if (!names) return names.error();
    return agent::node_set(loaded.found.graph, *names);
}

Result<Json> propose(LoadedRun& loaded, const Json& request) {
    const auto names = names_field(request, "nodes");
    if (!names) return names.error();
    const auto& graph = loaded.found.graph;
    const auto set = agent::node_set(graph, *names);
    if (!set) return set.error();
    const auto interface = agent::interface_of(graph, *set);
    const auto id = agent::proposal_id(graph, *set);
    Json nodes = Json::array();
    for (const auto node : set->nodes) nodes.push_back(graph[node].name);
    const Json kept{{"id", id}, {"nodes", nodes}};
    if (auto done = write_file_atomic(loaded.run.path() / "agent" / "proposals" / (id + ".json"),
                                      kept.dump(1) + "\n");
        !done)
        return done.error();
    return Json{{"proposal", id},
                {"nodes", nodes},
                {"parameters", tensors_json(graph, interface.params)},
                {"outputs", tensors_json(graph, interface.results)},
                {"kernel", agent::empty_kernel(id, graph, interface)},
                {"cost", cost_json(agent::cost_of(graph, *set, loaded.options))}};
}

}  // namespace fact::driver

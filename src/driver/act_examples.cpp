// The action that finds examples for a kernel that is to be written. Declared in
// driver/action_requests.h.
#include "agent/node_set.h"
#include "driver/action_requests.h"
#include "driver/examples.h"
#include "index/graph_features.h"

namespace fact::driver {

namespace {

Result<index::Features> wanted_features(const LoadedRun& loaded, const Json& request) {
    std::string field, value;
    for (const auto* name : {"proposal", "pattern", "text"}) {
        const auto given = text_field(request, name, false);
        if (!given) return given.error();
        if (given->empty()) continue;
        if (!field.empty())
            return Error{"give only one of 'proposal', 'pattern' and 'text'", "", true};
        field = name;
        value = *given;
    }
    if (field == "text") return features_of_text("text", value);
    if (field == "pattern") return features_of_pattern(loaded.found.discovery, value);
    if (field.empty())
        return Error{"give one of 'proposal', 'pattern' and 'text'", "see `fact act --list`", true};
    const auto set = find_proposal(loaded, value);
    if (!set) return set.error();
    return index::graph_features(loaded.found.graph, set->nodes);
}

}  // namespace

Result<Json> examples(LoadedRun& loaded, const Json& request) {
    const auto wanted = wanted_features(loaded, request);
    if (!wanted) return wanted.error();
    const auto count = count_field(request, "count", 3);
    if (!count) return count.error();
    const auto related =
        find_related(*wanted, {loaded.options.arch, static_cast<std::size_t>(*count)});
    if (!related) return related.error();
    auto reply = to_json(*related);
    reply["wanted"] = index::in_words(*wanted);
    return reply;
}

}  // namespace fact::driver

#include "driver/act.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/action_requests.h"
#include "support/json_fields.h"

namespace fact::driver {

namespace {

// In bytes: no sensible request is longer.
constexpr std::size_t kLargestRequest = 1 << 18;

struct Row {
    ActionInfo info;
    Result<Json> (*carry_out)(LoadedRun&, const Json&);
};

const std::vector<Row>& rows() {
    static const std::vector<Row> table{
        {{"look", "The graph, one line per operator: name, operator, shapes, source, share of time",
          R"({"type":"object","properties":{"module":{"type":"string"},"first":{"type":"integer"},"count":{"type":"integer"}}})"},
         look},
        {{"patterns", "What was found to fuse, with bounds and times, and what was left alone",
          R"({"type":"object","properties":{}})"},
         patterns},
        {{"source", "The lines of the model's source around an operator",
          R"({"type":"object","properties":{"node":{"type":"string"},"around":{"type":"integer"}},"required":["node"]})"},
         source},
        {{"propose", "Binds a set of operators: parameters, outputs, an empty kernel, bounds",
          R"({"type":"object","properties":{"nodes":{"type":"array","items":{"type":"string"}}},"required":["nodes"]})"},
         propose},
        {{"write",
          "Checks, interprets, compiles, proves and times a kernel text for a proposal, or another "
          "text for a pattern",
          R"({"type":"object","properties":{"proposal":{"type":"string"},"pattern":{"type":"string"},"text":{"type":"string"}},"required":["text"]})"},
         write},
        {{"schedules",
          "The schedules of a pattern's products, most promising first; or tries one of yours",
          R"({"type":"object","properties":{"pattern":{"type":"string"},"schedule":{"type":"string"},"product":{"type":"string"},"most":{"type":"integer"}},"required":["pattern"]})"},
         schedules},
        {{"withdraw",
          "Forgets the text that was accepted for a proposal; a package of the run with it is "
          "removed",
          R"({"type":"object","properties":{"proposal":{"type":"string"}},"required":["proposal"]})"},
         withdraw},
        {{"learn", "Makes an accepted text a rule that later runs apply without a model",
          R"({"type":"object","properties":{"proposal":{"type":"string"}},"required":["proposal"]})"},
         learn_rule},
        {{"examples",
          "Proved kernels nearest to a proposal, a pattern or a text, with their times, and rules "
          "that fit",
          R"({"type":"object","properties":{"proposal":{"type":"string"},"pattern":{"type":"string"},"text":{"type":"string"},"count":{"type":"integer"}}})"},
         examples},
        {{"measure", "Times the whole module with a set of patterns (default: those that pay)",
          R"({"type":"object","properties":{"patterns":{"type":"array","items":{"type":"string"}}}})"},
         measure},
        {{"compose", "Writes the package of a set of patterns (default: those that pay)",
          R"({"type":"object","properties":{"patterns":{"type":"array","items":{"type":"string"}},"output":{"type":"string"}}})"},
         compose_set},
        {{"budget", "The module's time now and at best, and the questions asked so far",
          R"({"type":"object","properties":{}})"},
         budget},
        {{"stop", "Notes why the work ends, and reports what was accepted and what is left",
          R"({"type":"object","properties":{"why":{"type":"string"}}})"},
         stop},
    };
    return table;
}

std::string dumped(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The first field that the schema does not have; "" if all are known.
std::string unknown_field(const Json& request, std::string_view schema) {
    const auto known = parse_json(schema)["properties"];
    for (const auto& [name, value] : request.items())
        if (!known.contains(name)) return name;
    return {};
}

Reply failed(const Error& error) {
    Json reply{{"ok", false}, {"error", error.message}};
    if (!error.hint.empty()) reply["hint"] = error.hint;
    return {false, dumped(reply)};
}

}  // namespace

const std::vector<ActionInfo>& actions() {
    static const auto list = [] {
        std::vector<ActionInfo> infos;
        for (const Row& row : rows()) infos.push_back(row.info);
        return infos;
    }();
    return list;
}

Reply act(LoadedRun& loaded, std::string_view action, std::string_view request) {
    const auto row = std::ranges::find(rows(), action, [](const Row& r) { return r.info.name; });
    if (row == rows().end())
        return failed({fmt::format("there is no action '{}'", action), "see `fact act --list`"});
    if (request.size() > kLargestRequest)
        return failed({fmt::format("the request has {} bytes; the limit is {}", request.size(),
                                   kLargestRequest),
                       ""});
    const auto json = request.empty() ? Json::object() : try_parse_json(request).value_or(Json());
    if (!json.is_object())
        return failed(
            {"the request is not a JSON object", fmt::format("its schema: {}", row->info.schema)});
    if (const auto unknown = unknown_field(json, row->info.schema); !unknown.empty())
        return failed({fmt::format("{} takes no field '{}'", action, unknown),
                       fmt::format("its schema: {}", row->info.schema)});
    try {
        const auto lock = loaded.run.lock();
        if (!lock) return failed(lock.error());
        // Another process may have changed the run while this one waited for the lock.
        if (is_stale(loaded)) {
            auto fresh = load_run(loaded.run);
            if (!fresh) return failed(fresh.error());
            loaded = std::move(*fresh);
        }
        auto reply = row->carry_out(loaded, json);
        if (!reply) return failed(reply.error());
        (*reply)["ok"] = true;
        return {true, dumped(*reply)};
    } catch (const std::exception& error) {
        return failed({error.what(), "this is a defect of FACT: please report it"});
    }
}

}  // namespace fact::driver

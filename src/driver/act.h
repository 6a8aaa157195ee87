// The actions with which a model or a person drives a run: each takes a JSON request and gives a
// JSON reply.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/loaded_run.h"

namespace fact::driver {

struct ActionInfo {
    std::string_view name, summary;
    std::string_view schema;  // of the request, as JSON Schema
};
const std::vector<ActionInfo>& actions();

struct Reply {
    bool ok = false;
    // {"ok": true, ...}, or {"ok": false, "error": ..., "hint": ...}; without a hint, no "hint".
    std::string json;
};

// If the request is wrong or the action fails, the reply has "ok": false; nothing is thrown.
Reply act(LoadedRun& loaded, std::string_view action, std::string_view request);

}  // namespace fact::driver

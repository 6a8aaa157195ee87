// The actions of whoever drives a run, a model or a person: each a JSON request and a JSON reply.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/desk.h"

namespace fact::driver {

struct ActionInfo {
    std::string_view name, summary;
    std::string_view schema;  // of the request, as JSON Schema
};
const std::vector<ActionInfo>& actions();

struct Reply {
    bool ok = false;
    std::string json;  // {"ok": true, ...}, or {"ok": false, "error": ..., "hint": ...}
};

// Whatever is wrong with a request, or in carrying it out, is a reply.
Reply act(Desk& desk, std::string_view action, std::string_view request);

}  // namespace fact::driver

// What each action does, and how the fields of a request are read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/node_set.h"
#include "driver/desk.h"
#include "match/patterns/pattern.h"

namespace fact::driver {

using Json = nlohmann::json;

Result<Json> look(Desk& desk, const Json& request);
Result<Json> patterns(Desk& desk, const Json& request);
Result<Json> source(Desk& desk, const Json& request);
Result<Json> propose(Desk& desk, const Json& request);
Result<Json> write(Desk& desk, const Json& request);
// The same of a kernel in CUDA. No action of `fact act`: only who starts a run may ask for that.
// "unverified" is true where it compiles and there is no GPU to prove it.
Result<Json> write_cuda(Desk& desk, const std::string& proposal, const std::string& source);
Result<Json> withdraw(Desk& desk, const Json& request);
Result<Json> learn_rule(Desk& desk, const Json& request);
Result<Json> examples(Desk& desk, const Json& request);
Result<Json> schedules(Desk& desk, const Json& request);
Result<Json> compose_set(Desk& desk, const Json& request);
Result<Json> measure(Desk& desk, const Json& request);
Result<Json> budget(Desk& desk, const Json& request);
Result<Json> stop(Desk& desk, const Json& request);

// A field of another kind is the caller's mistake.
Result<std::string> text_field(const Json& request, const char* name, bool required);
Result<int> count_field(const Json& request, const char* name, int otherwise);
Result<std::vector<std::string>> names_field(const Json& request, const char* name);

// The operators of a proposal that was made before.
Result<agent::NodeSet> proposed(const Desk& desk, const std::string& id);

// Of long words of others the beginning.
std::string shortened(std::string text);
Json cost_json(const match::Cost& cost);

}  // namespace fact::driver

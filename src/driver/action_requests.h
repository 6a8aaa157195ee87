// The actions, one function each, and how the fields of a request are read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/node_set.h"
#include "driver/loaded_run.h"
#include "match/patterns/pattern.h"

namespace fact::driver {

using Json = nlohmann::json;

Result<Json> look(LoadedRun& loaded, const Json& request);
Result<Json> patterns(LoadedRun& loaded, const Json& request);
Result<Json> source(LoadedRun& loaded, const Json& request);
Result<Json> propose(LoadedRun& loaded, const Json& request);
Result<Json> write(LoadedRun& loaded, const Json& request);
// Like `write`, for a kernel in CUDA. Not an action of `fact act`: only the user who starts a run
// may allow CUDA. The reply's "unverified" is true if it compiles but there is no GPU to prove it.
Result<Json> write_cuda(LoadedRun& loaded, const std::string& proposal, const std::string& source);
Result<Json> withdraw(LoadedRun& loaded, const Json& request);
Result<Json> learn_rule(LoadedRun& loaded, const Json& request);
Result<Json> examples(LoadedRun& loaded, const Json& request);
Result<Json> schedules(LoadedRun& loaded, const Json& request);
Result<Json> compose_set(LoadedRun& loaded, const Json& request);
Result<Json> measure(LoadedRun& loaded, const Json& request);
Result<Json> budget(LoadedRun& loaded, const Json& request);
Result<Json> stop(LoadedRun& loaded, const Json& request);

// Fields of a request; one of the wrong type is the caller's mistake. A text that is missing and
// not required is "".
Result<std::string> text_field(const Json& request, const char* name, bool required);
Result<int> count_field(const Json& request, const char* name, int if_missing);
Result<std::vector<std::string>> names_field(const Json& request, const char* name);

// The operators of an earlier proposal.
Result<agent::NodeSet> find_proposal(const LoadedRun& loaded, const std::string& id);

// The beginning of a long message from another program.
std::string shortened(std::string text);
Json cost_json(const match::Cost& cost);

}  // namespace fact::driver

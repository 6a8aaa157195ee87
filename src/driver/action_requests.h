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
// may allow CUDA. The reply's "unverified" is true if the kernel compiles but no GPU can prove it.
Result<Json> write_cuda(LoadedRun& loaded, const std::string& proposal, const std::string& source);
Result<Json> withdraw(LoadedRun& loaded, const Json& request);
Result<Json> learn_rule(LoadedRun& loaded, const Json& request);
Result<Json> examples(LoadedRun& loaded, const Json& request);
Result<Json> schedules(LoadedRun& loaded, const Json& request);
Result<Json> compose_set(LoadedRun& loaded, const Json& request);
Result<Json> measure(LoadedRun& loaded, const Json& request);
Result<Json> budget(LoadedRun& loaded, const Json& request);
Result<Json> stop(LoadedRun& loaded, const Json& request);

// Fields of a request; a field of the wrong type is the caller's mistake, and an Error. A string
// that is missing and not required is read as "".
Result<std::string> text_field(const Json& request, const char* name, bool required);
Result<int> count_field(const Json& request, const char* name, int if_missing);
Result<std::vector<std::string>> names_field(const Json& request, const char* name);

// The operators of an earlier proposal.
Result<agent::NodeSet> find_proposal(const LoadedRun& loaded, const std::string& id);

// The message, cut after its beginning if it is long: messages of compilers can be.
std::string shortened(std::string message);
Json cost_json(const match::Cost& cost);

}  // namespace fact::driver

#include "driver/python_ahead.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "driver/environment.h"

namespace fact::driver {

namespace {

constexpr Seconds kNoDeadline{1e9};

}  // namespace

void PythonAhead::start(const Environment& environment, const std::string& module) {
    if (waiting_.contains(module)) return;
    auto started = LineProcess::start(python_module(environment, "fact._ahead", {module}));
    if (started) waiting_.emplace(module, std::move(started).value());
}

Result<Exit> PythonAhead::run(const Environment& environment, const std::string& module,
                              const std::vector<std::string>& arguments) {
    if (auto ahead = waiting_.extract(module); !ahead.empty() && ahead.mapped().alive()) {
        const auto ended = ahead.mapped().ask(nlohmann::json(arguments).dump(), kNoDeadline);
        // It has no answer but its end: whatever it printed at its start was not ours.
        if (ended.status == LineProcess::Status::ended) {
            Exit exit;
            exit.code = ended.code;
            exit.signal = ended.signal;
            exit.err = ended.line;
            return exit;
        }
    }
    return fact::run(python_module(environment, module, arguments));
}

Result<Exit> run_python(const Environment& environment, const std::string& module,
                        const std::vector<std::string>& arguments) {
    return environment.ahead->run(environment, module, arguments);
}

}  // namespace fact::driver

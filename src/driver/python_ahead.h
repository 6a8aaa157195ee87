// Python programs that import torch before they are needed: that takes seconds, in which kernels
// are still being compiled and measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/result.h"
#include "support/subprocess.h"

namespace fact::driver {

struct Environment;

// What was started and never needed is killed with this object.
class PythonAhead {
  public:
    // Starts a module of FACT's up to where it needs its arguments. A failure to start costs only
    // the time that this would have saved.
    void start(const Environment& environment, const std::string& module);

    // Runs the module with these arguments to its end: the program that was started ahead, or a new
    // one. Of the former's standard error only the end is kept, and nothing of its output.
    Result<Exit> run(const Environment& environment, const std::string& module,
                     const std::vector<std::string>& arguments);

    // Kills what was started.
    void clear() { waiting_.clear(); }

  private:
    std::map<std::string, LineProcess> waiting_;  // by module
};

// As PythonAhead::run, with the environment's own.
Result<Exit> run_python(const Environment& environment, const std::string& module,
                        const std::vector<std::string>& arguments);

}  // namespace fact::driver

// What a run finds on the machine: FACT's own files, Python, the worker, the store of compiled
// kernels, a GPU.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "driver/python_ahead.h"
#include "gpu/driver.h"
#include "registry/store.h"
#include "support/result.h"
#include "support/subprocess.h"
#include "target/arch.h"

namespace fact::driver {

struct Environment {
    std::filesystem::path root;   // FACT's own folder: python/, kernels/
    std::string python;           // FACT_PYTHON, else python3
    std::string worker;           // FACT_WORKER, else fact-worker near this program; "": none
    std::filesystem::path store;  // compiled kernels, shared by runs
    registry::Folders registry;   // FACT_REGISTRY, else in the store; and what FACT ships
    std::optional<gpu::DeviceInfo> gpu;  // one that can run the arch's kernels
    std::string why_no_gpu;              // when there is none
    // Python programs of this run that wait for their arguments.
    std::shared_ptr<PythonAhead> ahead = std::make_shared<PythonAhead>();
};

Result<Environment> find_environment(std::string_view arch = kDefaultArch);

// The command that runs a Python module of FACT's, with the path set so that Python finds it.
Command python_module(const Environment& environment, const std::string& module,
                      const std::vector<std::string>& arguments);
// The Error that such a program reported if it ended because of the user's input; else nullopt.
std::optional<Error> bad_input_of(const Exit& exit);

// The folder that FACT is installed in.
Result<std::filesystem::path> own_folder();

// Where the registry's records are; works without the folder that FACT is installed in.
registry::Folders registry_folders();

// The commit of FACT's own tree: FACT_COMMIT, else what git says; "" if neither is available.
std::string own_commit(const Environment& environment);

// The GPU's name in the table of GPUs ("h200"), or the arch's typical one.
std::string table_name(const Environment& environment, const std::string& arch);

}  // namespace fact::driver

// What a run finds on the machine: our own files, Python, the worker, a place for compiled
// kernels, a GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gpu/driver.h"
#include "registry/store.h"
#include "support/result.h"
#include "support/subprocess.h"
#include "target/arch.h"

namespace fact::driver {

struct Environment {
    std::filesystem::path root;   // FACT's own folder: python/, kernels/
    std::string python;           // FACT_PYTHON, else python3
    std::string worker;           // FACT_WORKER, else fact-worker near our own program; may be ""
    std::filesystem::path store;  // compiled kernels, shared by runs
    registry::Folders registry;   // FACT_REGISTRY, else in the store; ours beside it
    std::optional<gpu::DeviceInfo> gpu;  // one that can run the arch's kernels
    std::string why_no_gpu;              // when there is none
};

Result<Environment> find_environment(std::string_view arch = kUsualArch);

// A Python module of ours, with the path set so that it is found.
Command python_module(const Environment& environment, const std::string& module,
                      const std::vector<std::string>& arguments);
// What such a program said of what the user gave, where it ended over that.
std::optional<Error> bad_input_of(const Exit& exit);

// FACT's own folder, whatever the architecture.
Result<std::filesystem::path> own_folder();

// Where the registry's records are; FACT's own folder may be missing.
registry::Folders registry_folders();

// The commit of FACT's own tree: FACT_COMMIT, else what git says; "" where neither knows.
std::string own_commit(const Environment& environment);

// The GPU's name in the table of GPUs ("h200"), or the arch's typical one.
std::string table_name(const Environment& environment, const std::string& arch);

}  // namespace fact::driver

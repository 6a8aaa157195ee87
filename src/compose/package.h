// The package folder: everything a composed module needs to run, and nothing it was made with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "graph/graph.h"
#include "support/result.h"

namespace fact::compose {

// A realized kernel; `folder` holds kernel.fact, kernel.cu, kernel.cubin and record.json.
struct PackageKernel {
    std::string family, schedule, precision;
    std::filesystem::path folder;
};

struct Package {
    std::string name, source, arch, dtype, device;
    bool measured = false;
    bool allow_tf32 = false;  // what it was made under, and is to be compared under
    bool training = false;    // the module's mode, and the one to compare in
    graph::Graph graph;       // with fused calls
    std::vector<graph::FusedCall> calls;
    std::vector<PackageKernel> kernels;
    std::filesystem::path archive;  // the exported module: graph and weights
    std::string original;           // JSON: how the original is called; "" where it is not known
};

// Whether `output` can become a package: its folder can be written, and nothing else is there.
Result<> check_output(const std::filesystem::path& output);

// Writes everything beside `output` and renames: an older package stays until the new one is whole.
Result<> write_package(const Package& package, const std::filesystem::path& output);

}  // namespace fact::compose

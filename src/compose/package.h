// The package folder: everything a composed module needs to run, without the tools that made it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compose/in_place.h"
#include "graph/fused.h"
#include "graph/graph.h"
#include "support/file_lock.h"
#include "support/files.h"
#include "support/result.h"

namespace fact::compose {

// A realized kernel; `folder` holds kernel.fact, kernel.cu, kernel.cubin and record.json.
struct PackageKernel {
    std::string family, schedule, precision;
    std::filesystem::path folder;
};

struct Package {
    std::string name, source, arch, dtype, device;
    std::string asked_dtype;       // the --dtype option; "": the module keeps its own types
    bool measured = false;         // whether its kernels were timed
    bool allow_tf32 = false;       // the setting it was made with, to be used for comparisons too
    bool training = false;         // the module's mode, to be used for comparisons too
    graph::Graph graph;            // with fused calls
    std::vector<WrittenCat> cats;  // what became of its cats; not written
    std::vector<graph::FusedCall> calls;
    std::vector<PackageKernel> kernels;
    std::filesystem::path archive;  // the exported module: graph and weights
    std::string original;           // the archive's fact.json, about the module; "": it has none
};

// Whether `output` can become a package: its folder is writable, and it does not exist or is an
// intact package without any other files.
Result<> check_output(const std::filesystem::path& output);

// The lock for checking, writing and measuring a package; waits for other processes.
Result<FileLock> lock_output(const std::filesystem::path& output);

// A package written next to its destination, so that it can be tested before it replaces what is
// there. It is deleted unless put_in_place() is called.
class StagedPackage {
  public:
    static Result<StagedPackage> write(const Package& package, const std::filesystem::path& output);

    std::filesystem::path path() const;  // where it can be loaded from until it is put in place
    // Replaces what is at the destination, if check_output allows it.
    Result<> put_in_place();

  private:
    StagedPackage(std::unique_ptr<TemporaryFolder> folder, std::filesystem::path output)
        : folder_(std::move(folder)), output_(std::move(output)) {}
    std::unique_ptr<TemporaryFolder> folder_;
    std::filesystem::path output_;
};

// Writes the package and puts it in place, without a test in between.
Result<> write_package(const Package& package, const std::filesystem::path& output);

}  // namespace fact::compose

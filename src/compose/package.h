// The package folder: everything a composed module needs to run, and nothing it was made with.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

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
    std::string asked_dtype;  // of --dtype; "" where the module keeps its own types
    bool measured = false;
    bool allow_tf32 = false;  // what it was made under, and is to be compared under
    bool training = false;    // the module's mode, and the one to compare in
    graph::Graph graph;       // with fused calls
    std::vector<graph::FusedCall> calls;
    std::vector<PackageKernel> kernels;
    std::filesystem::path archive;  // the exported module: graph and weights
    std::string original;           // JSON: how the original is called; "" where it is not known
};

// Whether `output` can become a package: its folder can be written, and what is there is nothing or
// a package, whole and without a file of anybody else's.
Result<> check_output(const std::filesystem::path& output);

// Held by whoever checks, writes and measures a package: of two at once, one waits.
Result<FileLock> lock_output(const std::filesystem::path& output);

// A package that lies beside its place, to be looked at before it takes it. It goes again unless it
// was put there, and what was there before stays until then.
class StagedPackage {
  public:
    static Result<StagedPackage> write(const Package& package, const std::filesystem::path& output);

    std::filesystem::path path() const;  // where it can be loaded from until it is put in place
    // Takes the place of what check_output allows to be there.
    Result<> put_in_place();

  private:
    StagedPackage(std::unique_ptr<TemporaryFolder> folder, std::filesystem::path output)
        : folder_(std::move(folder)), output_(std::move(output)) {}
    std::unique_ptr<TemporaryFolder> folder_;
    std::filesystem::path output_;
};

// Both at once, for a package that nobody looks at first.
Result<> write_package(const Package& package, const std::filesystem::path& output);

}  // namespace fact::compose

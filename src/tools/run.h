// Runs a kernel text in the interpreter on given or random tensors.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/compare.h"
#include "tools/extents.h"
#include "tools/host_tensor.h"
#include "tools/statistics.h"

namespace fact::tools {

struct NamedFile {
    std::string tensor;
    std::filesystem::path file;
};
// "y=out.npy"; `option` is the option's name in errors.
Result<std::vector<NamedFile>> parse_files(const std::vector<std::string>& words,
                                           std::string_view option);

struct RunRequest {
    std::vector<Setting> settings;
    std::vector<NamedFile> inputs, outputs, expected;  // read, written, compared with the outputs
    std::uint64_t seed = 0;
};

struct RunReport {
    Extents extents;
    struct Line {
        std::string name, type;  // "y", "bf16[16, 16]"
        std::string about;       // where an input came from; the statistics of an output
    };
    std::vector<Line> inputs, outputs;
    struct Verdict {
        std::string output, file;
        Comparison comparison;
    };
    std::vector<Verdict> verdicts;  // for the outputs whose expected values were given
    std::vector<std::string> notes;

    bool agrees() const {
        return std::ranges::all_of(verdicts, [](const Verdict& v) { return v.comparison.agrees; });
    }
};

Result<RunReport> run_kernel(const ir::Kernel& kernel, const RunRequest& request);

std::string to_text(const ir::Kernel& kernel, const RunReport& report);
std::string to_json(const ir::Kernel& kernel, const RunReport& report);

}  // namespace fact::tools

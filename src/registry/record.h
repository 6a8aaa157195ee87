// One record: how a piece of work was best computed on a GPU, and how that was measured.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "support/times.h"

namespace fact::registry {

// The format of the files; it is part of every key, so that two formats never share a file.
inline constexpr int kFormat = 1;

// The memory layout of a tensor of the kernel text, as far as kernels depend on it.
struct Tensor {
    std::string name;
    bool constant = false;  // a weight: prepared once
    int alignment = 16;     // bytes
    std::vector<int> dims;  // for each dimension of the text, how many of the graph's it merges
    bool operator==(const Tensor&) const = default;
};

// What is computed, and on which GPU. Everything here is part of the key, except `rule` and the
// kernel's name in `text`.
struct Work {
    std::string rule;    // of discovery: "linear"
    std::string text;    // kernel text
    std::string call;    // hash of the torch subgraph that it was checked against, without names
    std::string dtype;   // of the operands
    std::string output;  // of the first result
    bool split = false;  // f32 products from split operands (schedule::Problem)
    bool allow_tf32 = false;
    bool a_along_k = true, b_along_k = true;  // whether each operand is contiguous along K
    std::int64_t m = 0, n = 0, k = 0, batch = 1;
    std::map<std::string, std::int64_t> extents;  // of all the text's dimensions
    std::vector<Tensor> tensors;                  // parameters, then results
    std::string arch;                             // "sm90a"
    std::string gpu;                              // as the driver names it
    bool operator==(const Work&) const = default;
};

// What compiled the kernel. `code` is a hash of what FACT itself emits: the CUDA source, the
// skeletons it includes and the launch record.
struct Toolchain {
    std::string versions;  // "nvcc 13.0.88, CUTLASS 4.2.0"
    std::string code;
    std::string compile_key;  // of the cubin that was measured (jit::Artifact::identity)
    bool operator==(const Toolchain&) const = default;
};

struct Errors {
    double largest = 0, rms = 0;  // against f64, as the verifier defines them
    bool operator==(const Errors&) const = default;
};

// A distribution of inputs that the kernel (or its text, interpreted) passed.
struct Check {
    std::string distribution;
    int seed = 0;
    Errors eager, kernel;
    bool operator==(const Check&) const = default;
};

// Where the record comes from; not part of the key.
struct Provenance {
    std::string date;    // of the measurement, UTC: "2026-01-31T12:00:00.000Z"
    std::string fact;    // version
    std::string commit;  // of FACT's own tree, if known
    std::string torch;   // the version that traced the subgraph
    bool operator==(const Provenance&) const = default;
};

struct Record {
    Work work;
    Toolchain toolchain;
    std::string kernel;    // its name in the text
    std::string schedule;  // its spelling in the language
    std::string precision;
    int effort = 0;      // how many candidates the search could try
    int candidates = 0;  // how many it tried
    Times single, torch_single, sustained, torch_sustained;
    std::vector<Check> checks, text_checks;
    std::string note;   // of the text's check, for example how extents were shrunk
    std::string proof;  // at which other sizes the kernel was proved, or why at none
    Provenance provenance;
    bool operator==(const Record&) const = default;
};

nlohmann::ordered_json json_of(const Record& record);
// On one line if `indent` is negative. The order of the fields is fixed.
std::string to_json(const Record& record, int indent = 1);

// An Error says what is missing or wrong: a field, the key (if it does not match the content), the
// measurement, an error that is not a number, or the format.
Result<Record> record_from_json(std::string_view text);

// The largest relative errors of the kernel and of eager, in the check in which the kernel's is
// largest.
struct Exactness {
    double kernel = 0, eager = 0;
};
Exactness exactness(const Record& record);

}  // namespace fact::registry

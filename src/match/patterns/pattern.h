// A part of the graph worth fusing: its nodes, the kernel text that computes them, and how the
// kernel's tensors are read off the graph's values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/fused.h"
#include "graph/graph.h"
#include "schedule/schedule.h"
#include "support/result.h"
#include "target/arch.h"
#include "target/gpu_spec.h"
#include "target/torch_precision.h"

namespace fact::match {

struct Cost {
    double flops = 0, bytes = 0;       // least bytes: each input once, each output once
    double unfused_bytes = 0;          // what the separate operators move
    double hard_us = 0, bound_us = 0;  // datasheet, calibrated
    double unfused_us = 0;             // calibrated bound of the operators one by one
    double expected_us = 0;            // that of the kernels the text is cut into, one by one
    // Of its products, where that is less than the operators do: scores that a causal mask hides
    // need no computing. 0: what the operators do.
    double product_flops = 0;
};

// Whose text it is: a family's of src/match/families, somebody's who wrote it for a set of
// operators of the run, or one that was learned from such.
enum class Author { rules, agent, learned };
std::string_view name(Author author);

struct Pattern {
    // "p03_linear_gelu", of a norm "n00_layer_norm_rows", "r00_rotary", of several linears
    // "l00_linears_bias"; unique in the graph.
    std::string id;
    std::string rule;  // "linear", "matmul", ...: to be read, not to be compared
    Author author = Author::rules;
    bool convolution = false;        // torch has a TF32 setting of its own for it
    std::vector<std::string> nodes;  // names, in execution order
    // Nodes that make a constant from buffers and numbers, which the kernel knows by itself (a
    // causal mask): part of the original, but others may read them too.
    std::vector<std::string> copied = {};
    std::vector<std::string> inputs, outputs;  // graph values
    std::string kernel;                        // kernel text, one kernel
    std::vector<graph::Binding> params, results;
    std::map<std::string, std::int64_t> extents;  // of the kernel's dimensions
    schedule::Problem problem;                    // of its product
    Cost cost;
    double priority = 0;  // microseconds the bound says can be saved
    graph::Provenance where;
    std::string family;  // patterns with the same text and problem share one realization
};

// Of pointwise work that has nothing to be fused with: the least of reasons.
inline constexpr std::string_view kNothingNear =
    "no matrix product, norm or attention is next to it";

struct LeftAlone {
    std::string node, target, reason;
    graph::Provenance where;
};

// Every operator of a graph is in a pattern (among its nodes or what it copies) or in one of the
// other two.
struct Discovery {
    std::vector<Pattern> patterns;
    std::vector<LeftAlone> left_alone;  // work that stays torch's
    std::vector<LeftAlone> idle;        // what is no work for a kernel: views, single numbers
};

struct Options {
    std::string arch{kUsualArch};
    std::string gpu = "h200";
    Tf32 tf32 = {};                        // where kernels may compute in it
    std::optional<GpuSpec> ceilings = {};  // of that GPU, where they are not the table's
};

std::string to_json(const Discovery& discovery);
Result<Discovery> discovery_from_json(std::string_view text);

}  // namespace fact::match

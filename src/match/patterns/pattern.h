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
    double hard_us = 0, bound_us = 0;  // hard and calibrated bound of one fused kernel
    double unfused_us = 0;             // calibrated bound of the operators one by one
    double expected_us = 0;            // sum of the bounds of the kernels the text is cut into
    // Flops of its products, if fewer than those of the operators: scores that a causal mask hides
    // need not be computed. 0 means the same as the operators.
    double product_flops = 0;
};

// Who wrote the text: a family of src/match/families, an agent during this run, or an agent in an
// earlier run whose text became a learned rule.
enum class Author { rules, agent, learned };
std::string_view name(Author author);

struct Pattern {
    // "p03_linear_gelu", "n00_layer_norm_rows" (a norm), "r00_rotary", "l00_linears_bias" (several
    // linears); unique in the graph.
    std::string id;
    std::string rule;  // "linear", "matmul", ...: for people to read; code must not depend on it
    Author author = Author::rules;
    bool convolution = false;        // torch has a separate TF32 setting for convolutions
    std::vector<std::string> nodes;  // names, in execution order
    // Nodes that compute something the kernel has built in or computes itself, such as a causal
    // mask. They are part of the original, but other nodes may read them too.
    std::vector<std::string> copied = {};
    std::vector<std::string> inputs, outputs;  // graph values
    std::string kernel;                        // a text with one kernel
    std::vector<graph::Binding> params, results;
    std::map<std::string, std::int64_t> extents;  // of the kernel's dimensions
    schedule::Problem problem;                    // of its product
    Cost cost;
    double priority = 0;  // microseconds that can be saved according to the bounds
    graph::Provenance where;
    std::string family;  // patterns with the same text and problem share one realization
};

// The least informative reason: for pointwise operators without anything to fuse them with.
inline constexpr std::string_view kNothingToFuseWith = "nothing next to it can be computed with it";

struct LeftAlone {
    std::string node, target, reason;
    graph::Provenance where;
};

// Every operator of a graph is in a pattern (in `nodes` or `copied`) or in one of the other lists.
struct Discovery {
    std::vector<Pattern> patterns;
    std::vector<LeftAlone> left_alone;  // work that is left to torch
    std::vector<LeftAlone> idle;        // no work for a kernel: views, single numbers
};

struct Options {
    std::string arch{kDefaultArch};
    std::string gpu = "h200";
    Tf32 tf32 = {};                        // which kernels may compute in TF32
    std::optional<GpuSpec> ceilings = {};  // replace the table's numbers for `gpu`
};

std::string to_json(const Discovery& discovery);
Result<Discovery> discovery_from_json(std::string_view text);

}  // namespace fact::match

// Evaluates an expression over a grid of coordinates, a piece of a row at a time.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

// Where the elements of a parameter, or of an expression already computed, are in memory.
struct Source {
    const void* data = nullptr;
    DType dtype = DType::f64;
    std::vector<std::int64_t> strides;  // in elements, by dimension id; 0 if it lacks the dimension
};

struct Environment {
    const Kernel& kernel;
    std::vector<std::int64_t> extents;  // by dimension id
    // By expression id: parameters, and results that are not elementwise.
    std::unordered_map<std::uint32_t, Source> sources;
    bool round_casts = true;  // as in InterpretOptions
    int threads = 0;          // as in InterpretOptions
};

// Receives `count` values along the last dimension, starting at the coordinates (by dimension id).
using Sink = std::function<void(const std::vector<std::int64_t>& coordinates, std::int64_t count,
                                const double* values)>;

// Evaluates `root` at every coordinate of the dimensions `order`, which include all of root's; rows
// run along the last one. Pieces reach the sink in any order, from several threads.
void evaluate(const Environment& environment, ExprId root, const std::vector<DimId>& order,
              const Sink& sink);

// The values as one contiguous array in the order of `order`.
std::vector<double> materialize(const Environment& environment, ExprId root,
                                const std::vector<DimId>& order);

// Strides, by dimension id, of a contiguous array over `order`.
std::vector<std::int64_t> contiguous_strides(const Environment& environment,
                                             const std::vector<DimId>& order);

}  // namespace fact::ir

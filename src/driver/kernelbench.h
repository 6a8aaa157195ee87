// A package as a solution of a KernelBench problem: Python code that defines `ModelNew`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace fact::driver {

// KernelBench's evaluator gives ModelNew the reference's weights only by seeding: it builds Model
// and ModelNew after the same seed. So ModelNew builds the problem's own Model, which draws what
// the reference draws, and runs the package with its weights. All paths are absolute: the evaluator
// runs the code from wherever it likes.
struct Solution {
    std::filesystem::path problem;  // the file that defines Model
    std::filesystem::path package;
    std::filesystem::path python;  // the folder of the Python package `fact`
    std::string dtype = {};        // what the package casts Model to: "bf16", "fp16"; "": nothing
    std::vector<std::string> allow = {};  // namespaces of operators, as fact.load takes them
    bool training = false;                // the mode of the package
};

// The start of every such file, by which it is known as one that may be replaced.
inline constexpr std::string_view kSolutionStart = "\"\"\"KernelBench's ModelNew";

// `source` names the problem; "": what the package was made from.
Result<Solution> solution_of(const std::filesystem::path& package, std::string source = {});

std::string to_python(const Solution& solution);

}  // namespace fact::driver

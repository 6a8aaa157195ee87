// A vetted example: a kernel text that was proved and measured, with its results.
//
// The file is a kernel text that begins with comments for the other fields:
//   # computes: product, gelu (bf16)
//   # from: rule linear, record h200/01b7b4023bb1127e
//   # time: 105.98 us
//   kernel ...
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "support/result.h"

namespace fact::index {

struct Example {
    std::string name;      // of its file
    std::string computes;  // in words
    std::string from;      // rule and record
    std::string measured;  // when, and with which torch and compiler
    std::string arch, gpu;
    std::map<std::string, std::int64_t> extents;
    std::string precision;
    std::string schedule;               // as it was measured
    double time_us = 0, torch_us = 0;   // medians of single launches
    double bound_us = 0;                // calibrated
    double error = 0, torch_error = 0;  // the largest against f64, relative to the largest output
    std::string text;                   // with its schedule, if the language can express it
    bool operator==(const Example&) const = default;
};

std::string to_file(const Example& example);
// An Error says which line is missing or cannot be read.
Result<Example> example_from_file(std::string name, std::string_view file);

// "105.98 us, torch 126.46 us (1.19x), bound 100.10 us": its times in one line.
std::string times_line(const Example& example);

}  // namespace fact::index

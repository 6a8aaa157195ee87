// What a computation is made of, whoever wrote it down: the structure that examples are found by.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fact::index {

// One operation: "@", "attention", "sum over", "gelu", "+"; "" hands its operand on and counts for
// nothing. `reads` are earlier steps.
struct Step {
    std::string what;
    std::vector<std::size_t> reads = {};
};

// Of the largest product or attention (rows, columns, depth, batches), else rows and their length.
struct Sizes {
    std::optional<std::int64_t> m, n, k, batch;
    bool operator==(const Sizes&) const = default;
};

struct Features {
    std::map<std::string, int> counts;  // "@": 2, "norm": 1, "gelu": 1
    std::set<std::string> types;        // floating element types of its tensors
    Sizes sizes;
    bool operator==(const Features&) const = default;

    int count(const std::string& what) const {
        const auto found = counts.find(what);
        return found == counts.end() ? 0 : found->second;
    }
};

// Counts the steps, and what several of them are together: a square root of a sum is a "norm" (of a
// product's results a "norm after" too), an exponential of what a maximum was taken of a "softmax",
// and a product with a softmax of a product an "attention", in whose place those are not
// counted.
Features features_of(const std::vector<Step>& steps);

// The same but for sizes: what makes two texts one structure.
std::string structure(const Features& features);

// "2 products, norm, silu": what matters most first.
std::string in_words(const Features& features);

// How far two are apart: kinds of operations weigh most, pointwise arithmetic least, counts and
// sizes on a log scale. A size that one of them does not know counts for nothing.
double distance(const Features& a, const Features& b);
double structural_distance(const Features& a, const Features& b);

}  // namespace fact::index

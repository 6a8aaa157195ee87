// The structure of a computation, by which examples are found, independent of how it is written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fact::index {

// One operation: "@", "attention", "sum over", "gelu", "+"; "" passes its operand on and is not
// counted. `reads` are earlier steps.
struct Step {
    std::string what;
    std::vector<std::size_t> reads = {};
};

// The sizes of the largest product or attention: rows, columns, depth and batches. Without one, `m`
// rows of length `n`.
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

// Counts the steps, and combinations of them: a square root of a sum is a "norm" (and also a "norm
// after" if it is of a product's results), an exponential of something whose maximum is taken is a
// "softmax", and a product with a softmax of a product is an "attention", whose parts are then not
// counted.
Features features_of(const std::vector<Step>& steps);

// The features without sizes: texts with equal strings have the same structure.
std::string structure(const Features& features);

// "2 products, norm, silu": the most important first.
std::string in_words(const Features& features);

// The distance of two computations: kinds of operations weigh most, pointwise arithmetic least;
// counts and sizes are on a log scale. A size that is unknown in one of them is ignored.
double distance(const Features& a, const Features& b);
// The same without sizes.
double structural_distance(const Features& a, const Features& b);

}  // namespace fact::index

// Attention's heads and chains, as its discovery tests write them.
#pragma once

#include <limits>

#include "graphs.h"
#include "match/patterns/printer.h"

namespace fact::match::testing {

using Ints = std::vector<std::int64_t>;

inline constexpr std::int64_t kB = 2, kH = 4, kT = 64, kD = 32;
inline constexpr double kLow = -std::numeric_limits<double>::infinity();

// Heads as they lie after a projection, and the steps of a chain.
struct Heads : Net {
    ValueId q = head("q", kH), k = head("k", kH), v = head("v", kH);

    ValueId head(const std::string& name, std::int64_t heads) {
        return permute(name + "t", input(name, {kB, kT, heads, kD}), {0, 2, 1, 3});
    }
    ValueId product(const std::string& name, ValueId a, ValueId b, Sizes sizes) {
        return op(name, "matmul.default", {{"self", a}, {"other", b}}, std::move(sizes));
    }
    ValueId scores(ValueId a, ValueId b) {
        return product("scores", a, permute("kt2", b, {0, 1, 3, 2}), {kB, kH, kT, kT});
    }
    ValueId scores() { return scores(q, k); }
    ValueId softmax(ValueId x) {
        return op("weights", "softmax.int", {{"self", x}, {"dim", std::int64_t{3}}},
                  {kB, kH, kT, kT});
    }
    ValueId mix(ValueId weights) { return product("mixed", weights, v, {kB, kH, kT, kD}); }
    // A triangle of index arithmetic, in the type of the net.
    ValueId triangle() {
        const auto low =
            op("low", "full.default", {{"size", Ints{kT, kT}}, {"fill_value", kLow}}, {kT, kT});
        return op("triangle", "triu.default", {{"self", low}, {"diagonal", std::int64_t{1}}},
                  {kT, kT});
    }
    // What lies further back than a row's own and the columns before it, so many together.
    ValueId window(std::int64_t columns) {
        const auto above = triangle();
        const auto low =
            op("far", "full.default", {{"size", Ints{kT, kT}}, {"fill_value", kLow}}, {kT, kT});
        const auto below =
            op("below", "tril.default", {{"self", low}, {"diagonal", -columns}}, {kT, kT});
        return add("window", above, below);
    }
    ValueId add(const std::string& name, ValueId x, ValueId other) {
        return pointwise(name, "add.Tensor", x, other);
    }
};

inline const Pattern* attention(const Discovery& found) {
    for (const auto& pattern : found.patterns)
        if (pattern.rule == "attention") return &pattern;
    return nullptr;
}

inline std::string text_of(const Net& net, const Options& options = {}) {
    const auto found = net.discover(options);
    const auto* pattern = attention(found);
    return pattern ? pattern->kernel : "(none)\n" + print(found);
}

inline std::string expected(const std::string& name, const std::string& more) {
    return "kernel " + name +
           "(\n"
           "    q: bf16[B, M, H, D],\n"
           "    k: bf16[B, N, H, D],\n"
           "    v: bf16[B, N, H, D]\n"
           ") -> (\n"
           "    y: bf16[B, H, M, D]\n"
           ") {\n"
           "  o = attention(q.permute(B, H, M, D), k.permute(B, H, N, D), "
           "v.permute(B, H, N, D), " +
           more +
           ")\n"
           "  y = o\n"
           "}\n";
}

}  // namespace fact::match::testing

#include "verify/thresholds.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/identity.h"

namespace fact::verify {

namespace {

// Numbers from this magnitude on stand for infinity.
constexpr double kInfinite = 1e6;

// The operators that compare or clamp, and the names of the arguments that give the numbers.
constexpr std::array<std::string_view, 13> kComparing{
    "clamp", "clamp_min", "clamp_max", "hardtanh", "threshold", "softplus", "eq",
    "ne",    "lt",        "le",        "gt",       "ge",        "relu6"};
constexpr std::array<std::string_view, 6> kNumbers{"min",     "max",       "min_val",
                                                   "max_val", "threshold", "other"};

double number_of(const graph::Argument& argument) {
    if (const auto* real = std::get_if<double>(&argument)) return *real;
    if (const auto* whole = std::get_if<std::int64_t>(&argument))
        return static_cast<double>(*whole);
    return 0;
}

bool compares(ir::BinaryOp op) {
    switch (op) {
        using enum ir::BinaryOp;
        case min:
        case max:
        case lt:
        case le:
        case gt:
        case ge:
        case eq:
        case ne:
            return true;
        case add:
        case sub:
        case mul:
        case div:
        case pow:
        case logical_and:
        case logical_or:
            return false;
    }
    return false;  // not reached
}

}  // namespace

double largest_threshold(const graph::Graph& graph) {
    double largest = 0;
    for (const auto& node : graph.nodes) {
        if (std::ranges::find(kComparing, graph::aten_name(node.target)) == kComparing.end())
            continue;
        for (const auto& argument : node.inputs) {
            if (std::ranges::find(kNumbers, argument.name) == kNumbers.end()) continue;
            const double number = std::abs(number_of(argument.value));
            if (number < kInfinite) largest = std::max(largest, number);
        }
    }
    return largest;
}

double largest_threshold(const ir::Kernel& text) {
    double largest = 0;
    for (const auto& expr : text.exprs) {
        const auto* binary = std::get_if<ir::Binary>(&expr.node);
        if (!binary || !compares(binary->op)) continue;
        for (const auto side : {binary->a, binary->b})
            if (const auto* literal = std::get_if<ir::Literal>(&text[side].node))
                if (const double number = std::abs(literal->value); number < kInfinite)
                    largest = std::max(largest, number);
    }
    return largest;
}

}  // namespace fact::verify

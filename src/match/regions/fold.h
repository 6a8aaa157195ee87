// A norm folded into the product that reads it. The rows' factor comes out of the sum, the gain
// goes into the weight, and what the mean and the shift add is a vector of the weight's: the
// product reads the rows as they are.
//
// (layer_norm(x) * g + b) @ w.T = (x @ (w * g).T - mean(x) * sum(w * g)) / deviation + sum(w * b)
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ir/kernel.h"
#include "match/formulas/norm_form.h"
#include "match/regions/facts.h"

namespace fact::match {

struct Fold {
    std::vector<graph::NodeId> nodes;  // of the norm, and views between it and the product
    graph::NodeId norm{};              // the one that its vectors are said to be arguments of
    graph::ValueId x{};                // what is normalised
    ir::Kernel kernel;                 // the norm by itself,
    NormForm form;                     // and what it is made of
    struct Vector {                    // a parameter of that kernel
        std::string argument;          // "gain" or "shift", numbered from the second on
        graph::ValueId value{};
    };
    std::map<std::uint32_t, Vector> vectors;
};

}  // namespace fact::match

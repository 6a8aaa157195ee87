// A norm folded into the product that reads it, so that the product reads the rows as they are
// before the norm. The gain is multiplied into the weight, the sums of the product are divided by
// the deviation of their row, and the mean and the shift become terms added to the sums.
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
    graph::NodeId norm{};              // the norm or mean; `vectors` count as its arguments
    graph::ValueId x{};                // what is normalised
    ir::Kernel kernel;                 // computes the norm alone
    NormForm form;                     // of `kernel`
    struct Vector {
        std::string argument;  // "gain" or "shift", with a number from the second on
        graph::ValueId value{};
    };
    std::map<std::uint32_t, Vector> vectors;  // by the number of the parameter in `kernel`
};

}  // namespace fact::match

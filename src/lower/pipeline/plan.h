// Which skeleton computes a product, and the problem that its schedule depends on.
#pragma once

#include <string>
#include <vector>

#include "lower/pipeline/cut.h"
#include "schedule/schedule.h"
#include "target/arch.h"

namespace fact::lower {

struct ProductPlan {
    std::string product;  // its name in the text; "" if it has none
    Skeleton skeleton{};
    schedule::Problem problem;
    std::vector<int> alignment;  // in bytes, of each parameter and output of the stage
};

// What is known about the tensors of a pipeline, and the GPU it is for.
struct TensorFacts {
    std::string arch;
    std::vector<std::int64_t> extents;  // of dimensions, kUnknownExtent where not known
    std::vector<int> alignment;         // bytes that divide start and strides; missing: 16
    bool tma = true;                    // whether skeletons that need tensor maps are allowed
};

// Lets the stage's kernel store its output element by element if rows of the output are no
// multiples of 16 bytes, and a skeleton that does so can compute the rest.
void find_ragged_output(Stage& stage, const TensorFacts& facts);

// An Error says what no skeleton can express.
Result<ProductPlan> plan_product(const Stage& stage, const TensorFacts& facts);

}  // namespace fact::lower

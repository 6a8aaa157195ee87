// A kernel seen as what the product skeletons compute: one product and a pointwise epilogue.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace fact::lower::sm90 {

// An operand of the product: a parameter and which of its dimensions plays which part.
struct OperandForm {
    int param = 0;
    int outer = 0, k = 0;              // dimensions of M (or N) and of K
    std::array<int, 2> batch{-1, -1};  // -1: the same for the whole batch
    schedule::Major major = schedule::Major::k;
};

// A tensor the epilogue reads or the output it writes; -1 where a dimension is missing.
struct EpilogueForm {
    int tensor = 0;  // parameter index
    int m = -1, n = -1;
    std::array<int, 2> batch{-1, -1};
};

struct ProductForm {
    ir::ExprId product{};
    ir::Precision precision = ir::Precision::exact;
    ir::DimId m{}, n{}, k{};
    std::vector<ir::DimId> batch;  // at most two
    OperandForm a, b;
    std::vector<EpilogueForm> extras;  // in parameter order
    int staged = -1;                   // index of the one TMA brings through shared memory
    EpilogueForm output;               // `tensor` is 0: the only output
    std::vector<ir::ExprId> epilogue;  // what is computed after the product, operands first
    ir::ExprId result{};               // stored to the output
};

// An Error names what the skeletons cannot express.
Result<ProductForm> product_form(const ir::Kernel& kernel);

}  // namespace fact::lower::sm90

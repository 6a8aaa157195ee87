// A kernel seen as what the product skeletons compute: a product, or two of one matrix, and a
// pointwise epilogue.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace fact::lower {

inline constexpr int kSlabColumns = 32;  // as in operands.cuh

// An operand of the product: a parameter and which of its dimensions plays which part.
struct OperandForm {
    int param = 0;
    int outer = 0, k = 0;    // dimensions of M (or N) and of K
    std::vector<int> batch;  // as ProductForm::batch; -1: the same along it
    schedule::Major major = schedule::Major::k;
    bool contiguous = true;  // along K or M (or N), as `major` says; else along the batch
    bool operator==(const OperandForm&) const = default;
};

// A tensor the epilogue reads or the output it writes; -1 where a dimension is missing.
struct EpilogueForm {
    int tensor = 0;  // parameter index
    int m = -1, n = -1;
    std::vector<int> batch;
    bool paired = false;   // contiguous along N: two neighbours are read or written at once
    int period = 0;        // it begins anew every so many columns; 0: it has all of them
    bool straight = true;  // it is read at its place
    bool flipped = false;  // it is read at the place that ProductForm::flip tells
};

// How many batch dimensions a skeleton is given: at least two, so that most kernels are alike.
inline std::size_t num_batches(const std::vector<ir::DimId>& batch) {
    return std::max<std::size_t>(batch.size(), 2);
}
// Where each of them stands among a tensor's dimensions; -1: nowhere.
std::vector<int> batch_places(const std::vector<ir::DimId>& dims,
                              const std::vector<ir::DimId>& batch);

inline constexpr ir::ExprId kNoProduct{0xffffffff};

struct ProductForm {
    ir::ExprId product{};
    ir::Precision precision = ir::Precision::exact;
    ir::DimId m{}, n{}, k{};
    std::vector<ir::DimId> batch;
    OperandForm a, b;
    ir::ExprId second = kNoProduct;  // another product of `a`, with a second operand like b
    OperandForm second_b;
    int flip = 0;                      // columns between two values that change places; 0: none do
    std::vector<EpilogueForm> extras;  // in parameter order
    int staged = -1;                   // index of one brought through shared memory: sm90 chooses
    EpilogueForm output;               // `tensor` is 0: the only output
    std::vector<ir::ExprId> epilogue;  // what is computed after the product, operands first
    ir::ExprId result{};               // stored to the output

    std::size_t num_batches() const { return lower::num_batches(batch); }
    // Whether the functor is given a second sum beside a place's own.
    bool takes_two_sums() const { return second != kNoProduct || flip != 0; }
};

// A dimension among those that make up the columns: `column / inner % extent`, without the
// remainder where `extent` is 0.
struct ColumnPart {
    std::int64_t inner = 1, extent = 0;
};
// Nothing where `part` is no factor of `n`, or one whose place only a launch tells.
std::optional<ColumnPart> column_part(const ir::Kernel& kernel, ir::DimId n, ir::DimId part);

// The parameter that a Flip reads; nothing for other nodes and other flips.
std::optional<std::uint32_t> flipped_param(const ir::Kernel& kernel, ir::ExprId id);

// An Error names what no product skeleton can express. Flips are of the product and of parameters
// alone (flips_at_leaves, lower/rows/flips.h).
Result<ProductForm> product_form(const ir::Kernel& kernel);
// What is computed at every place of a matrix from tensors alone: m, n and batch as given, extras,
// epilogue and result filled in, kNoProduct. An Error names what a functor cannot hold.
Result<ProductForm> pointwise_form(const ir::Kernel& kernel, ir::ExprId result, ir::DimId m,
                                   ir::DimId n, std::vector<ir::DimId> batch);
// The same for what one of them ("sm90 ") cannot.
Error cannot_express(const ir::Kernel& kernel, std::string_view skeleton, std::string_view what);

// What a schedule has to know of the product, extents left at 0.
schedule::Problem problem_of(const ir::Kernel& kernel, const ProductForm& form);

}  // namespace fact::lower

// A kernel seen as what the product skeletons compute: a product, or two with the same first
// operand, and a pointwise epilogue.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "lower/product/scattered_output.h"
#include "lower/product/window_operand.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace fact::lower {

// The columns of a slab, the part of a tile that an epilogue fetches at a time (operands.cuh).
inline constexpr int kSlabColumns = 32;

// An operand of the product: a parameter and the roles of its dimensions.
struct OperandForm {
    int param = 0;
    int outer = 0, k = 0;    // indices of its dimensions M (or N) and K
    std::vector<int> batch;  // the index of each of ProductForm::batch; -1: it lacks that dimension
    schedule::Major major = schedule::Major::k;
    // Whether K or M (or N) is contiguous, as `major` says; if false, a batch dimension is.
    bool contiguous = true;
    // Windows of the parameter: `outer` and `k` are then -1.
    std::optional<WindowOperand> windows = {};
    bool operator==(const OperandForm&) const = default;

    bool overlaps() const { return windows && windows->run > 0; }  // its rows do, in memory
};

// A tensor that the epilogue reads, or the output: `m`, `n` and `batch` are indices of its
// dimensions; -1: it lacks the dimension.
struct EpilogueForm {
    int tensor = 0;  // index among parameters, or among outputs
    int m = -1, n = -1;
    std::vector<int> batch;
    bool paired = false;    // contiguous along N: two neighbours are read or written at once
    int period = 0;         // it repeats after this many columns; 0: it does not
    bool unflipped = true;  // it is read at the column itself
    bool flipped = false;   // it is read at the flipped column, by ProductForm::flip
};

// How many batch dimensions a skeleton takes: at least two, so that most kernels are alike.
inline std::size_t num_batch_dims(const std::vector<ir::DimId>& batch) {
    return std::max<std::size_t>(batch.size(), 2);
}
// The index of each batch dimension among a tensor's dimensions; -1: it lacks it.
std::vector<int> batch_places(const std::vector<ir::DimId>& dims,
                              const std::vector<ir::DimId>& batch);

inline constexpr ir::ExprId kNoProduct{0xffffffff};

struct ProductForm {
    ir::ExprId product{};
    ir::Precision precision = ir::Precision::exact;
    ir::DimId m{}, n{}, k{};
    std::vector<ir::DimId> batch;
    OperandForm a, b;
    ir::ExprId second = kNoProduct;  // another product of `a`, with an operand laid out like b
    OperandForm second_b;
    int flip = 0;                      // columns between two values that a flip swaps; 0: no flip
    std::vector<EpilogueForm> extras;  // in parameter order
    int staged = -1;      // the index of the extra loaded via shared memory, set by sm90; -1: none
    EpilogueForm output;  // `tensor` is 0: the only output
    std::vector<ir::ExprId> epilogue;  // what is computed after the product, operands first
    ir::ExprId result{};               // stored to the output
    // How it is stored if no tensor map can. If its dimensions are not the output's, whose form is
    // then left empty, the output tells no extents.
    std::optional<ScatteredOutput> scattered = {};

    // The operand that is windows; nullptr: both are matrices.
    const OperandForm* windows() const { return a.windows ? &a : b.windows ? &b : nullptr; }
    std::size_t num_batch_dims() const { return lower::num_batch_dims(batch); }
    bool output_has_dims() const { return output.m >= 0 && output.n >= 0; }
    // Whether the functor gets two sums: that of its own element, and that of the second product or
    // of the flipped column.
    bool takes_two_sums() const { return second != kNoProduct || flip != 0; }
};

// A factor of the columns' dimension: its coordinate is `column / inner % extent`, or
// `column / inner` if `extent` is 0, as it is for the first factor.
struct ColumnPart {
    std::int64_t inner = 1, extent = 0;
};
// nullopt if `part` is not a factor of `n`, or if its stride is known only at launch.
std::optional<ColumnPart> column_part(const ir::Kernel& kernel, ir::DimId n, ir::DimId part);

// The parameter that the Flip `id` reads; nullopt if `id` is not a Flip or flips something else.
std::optional<std::uint32_t> flipped_param(const ir::Kernel& kernel, ir::ExprId id);

// An Error names what no product skeleton can express. Only the product and parameters may be
// flipped (flips_at_leaves, lower/rows/flips.h).
Result<ProductForm> product_form(const ir::Kernel& kernel);
// The form of a pointwise matrix without a product: m, n and batch as given, extras, epilogue and
// result filled in, kNoProduct as the product. An Error names what a functor cannot express.
Result<ProductForm> pointwise_form(const ir::Kernel& kernel, ir::ExprId result, ir::DimId m,
                                   ir::DimId n, std::vector<ir::DimId> batch);
// The Error for what a skeleton cannot express; `skeleton` is "sm90 ", with the space, or "" for
// what no product skeleton can.
Error cannot_express(const ir::Kernel& kernel, std::string_view skeleton, std::string_view what);

// The problem that a schedule depends on, without extents.
schedule::Problem problem_of(const ir::Kernel& kernel, const ProductForm& form);

}  // namespace fact::lower

#include "torch/difference.h"

#include <ATen/ops/aminmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fact::exec {

namespace {

using verify::Difference;

// Elements that are compared at a time, which bounds the f64 temporaries.
constexpr std::int64_t kChunk = std::int64_t{1} << 24;
// Slices with fewer elements are not judged: their error is mostly a matter of luck.
constexpr std::int64_t kMinElements = 32;
// A class of elements of similar magnitude spans a factor of 2^kClassBits; whatever is below
// kClasses classes is one class more.
constexpr int kClassBits = 4, kClasses = 16;
// Elements are sorted by magnitude; of a larger output, a sample of about this many.
constexpr std::int64_t kSampled = std::int64_t{1} << 22;
// If every element of a slice has its own rounding error, the slice changes by about the same
// amount for every change of the inputs. If its elements share one error, as those of columns do if
// all rows are alike, the amount is a matter of luck: the largest squared change of the slice is
// then more than this many times the smallest.
constexpr double kMaxSpread = 3;
// How many elements carry a slice's error: the square of the sum of their squared errors, divided
// by the sum of their fourth powers, which is their number if all errors are alike, and a third of
// it if they are normally distributed. With fewer, such as where a sigmoid is 0 or 1 in nearly all
// of a row, the errors of two right results differ by chance: a row or column is then allowed
// kByChance times as much.
constexpr double kLeastCarriers = 4, kByChance = 8;

// Which elements can be compared: overflow in eager is no fault of the kernel.
at::Tensor comparable(const at::Tensor& want, const at::Tensor& eager) {
    return want.isfinite().logical_and_(eager.isfinite());
}

// The sums of a Difference over some elements, on the device: wrong NaN, wrong infinities,
// compared elements, largest error and value, squared error and value.
at::Tensor chunk_sums(const at::Tensor& oracle, const at::Tensor& result, const at::Tensor& eager) {
    const auto want = oracle.to(at::kDouble), got = result.to(at::kDouble);
    const auto finite = comparable(want, eager);
    const auto bad_nan = got.isnan().logical_xor_(want.isnan());
    // A NaN is counted in bad_nan already.
    const auto bad_infinity = want.isinf()
                                  .logical_and_(got.ne(want))
                                  .logical_or_(finite.logical_and(got.isinf()))
                                  .logical_and_(got.isnan().logical_not_());
    const auto counted = finite.logical_and(got.isfinite());
    const auto zero = want.new_zeros({});
    const auto error = at::where(counted, got.sub(want).abs_(), zero);
    const auto value = at::where(counted, want.abs(), zero);
    const auto count = [](const at::Tensor& flags) { return flags.sum().to(at::kDouble); };
    return at::stack({count(bad_nan), count(bad_infinity), count(counted), error.max(), value.max(),
                      error.square().sum(), value.square().sum()});
}

// |result - exact|, or |exact| without a result, of elements that can be compared; infinite if the
// result is NaN.
at::Tensor distances(const at::Tensor& want, const at::Tensor& eager, const at::Tensor* result) {
    const auto infinite = want.new_full({}, std::numeric_limits<double>::infinity());
    auto off = result ? result->to(at::kDouble).sub(want).abs_() : want.abs();
    if (result) off = at::where(off.isnan(), infinite, off);
    return at::where(comparable(want, eager), off, want.new_zeros({}));
}

}  // namespace

Difference difference(const at::Tensor& exact, const at::Tensor& result, const at::Tensor& eager) {
    const auto a = exact.reshape({-1}), b = result.reshape({-1}), c = eager.reshape({-1});
    Tensors chunks;
    for (std::int64_t at = 0; at < a.numel(); at += kChunk) {
        const auto count = std::min(kChunk, a.numel() - at);
        chunks.push_back(
            chunk_sums(a.narrow(0, at, count), b.narrow(0, at, count), c.narrow(0, at, count)));
    }
    Difference total;
    if (chunks.empty()) return total;
    // One transfer for all: each costs more than the sums of a small output.
    const auto all = at::stack(chunks).to(at::kCPU);
    for (std::int64_t i = 0; i < all.size(0); ++i) {
        const auto* sums = all.const_data_ptr<double>() + i * all.size(1);
        total.wrong_nan += static_cast<long>(sums[0]);
        total.wrong_infinity += static_cast<long>(sums[1]);
        total.compared += static_cast<long>(sums[2]);
        total.largest_error = std::max(total.largest_error, sums[3]);
        total.largest_value = std::max(total.largest_value, sums[4]);
        total.sum_squared_error += sums[5];
        total.sum_squared_value += sums[6];
    }
    return total;
}

Slices::Slices(const at::Tensor& exact, const at::Tensor& eager, const verify::Grain& grain,
               std::size_t changes, const std::function<at::Tensor(std::size_t)>& moved)
    : sizes_(exact.sizes().vec()) {
    const auto count = count_ = exact.numel();
    if (!eager.is_floating_point() || count < kMinElements) return;
    length_ = exact.dim() > 0 ? exact.size(-1) : 1;
    row_group_ = length_ * ((kMinElements + length_ - 1) / length_);
    rows_ = (count + row_group_ - 1) / row_group_;
    columns_ = length_ > 1 && count / length_ >= kMinElements ? length_ : 0;
    const auto want = exact.reshape({-1}), flat_eager = eager.reshape({-1});
    choose_classes(want, flat_eager);
    const auto eager_errors = errors(exact, eager, eager);
    values_ =
        sums([&](const Part& part) { return distances(part(want), part(flat_eager), nullptr); });
    const auto nonzero = sums([&](const Part& part) { return part(want).ne(0).to(at::kDouble); });
    Sums mean_squared_change{values_.squares.new_zeros({}), values_.squares.new_zeros({})};
    Tensors squared_changes;
    auto carriers = values_.squares.new_zeros({});
    for (std::size_t i = 0; i < changes; ++i) {
        const auto moved_result = moved(i).reshape({-1});
        const auto changes_of = [&](const Part& part) {
            const auto other = part(moved_result);
            return distances(part(want), part(flat_eager), &other);
        };
        const auto change = sums(changes_of);
        const auto fourth =
            sums([&](const Part& part) { return changes_of(part).square(); }).squares;
        const double weight = 1.0 / static_cast<double>(changes);
        mean_squared_change.squares = mean_squared_change.squares.add(change.squares, weight);
        mean_squared_change.largest =
            mean_squared_change.largest.add(change.largest.square(), weight);
        carriers = carriers.add(change.squares.square().div(fourth), weight);
        squared_changes.push_back(change.squares);
    }
    const auto enough = nonzero.squares.ge(kMinElements);
    const auto judged = squared_changes.empty()
                            ? enough
                            : without_shared_errors(enough, at::stack(squared_changes));
    auto factor = values_.squares.new_full({values_.squares.size(0)}, 2);
    if (!squared_changes.empty()) {  // without any change, `carriers` is NaN
        const auto few = carriers.lt(kLeastCarriers).narrow(0, 0, rows_ + columns_);
        factor.narrow(0, 0, rows_ + columns_).masked_fill_(few, 2 * kByChance);
    }
    // `factor` times the square root of the sum of all squared errors that a right result may have.
    const auto allowed = [&](const at::Tensor& eager_squares, const at::Tensor& change_squares,
                             const at::Tensor& value_squares, double share) {
        const auto limit = eager_squares.add(change_squares)
                               .add_(value_squares, share * share)
                               .add_(grain.least * grain.least)
                               .sqrt_()
                               .mul_(factor);
        return limit.masked_fill_(judged.logical_not(), std::numeric_limits<double>::infinity());
    };
    limits_.squares = allowed(eager_errors.squares, mean_squared_change.squares, values_.squares,
                              grain.floor.rms);
    limits_.largest = allowed(eager_errors.largest.square(), mean_squared_change.largest,
                              values_.largest.square(), grain.floor.largest);
}

// Decided for all rows together, and for all columns together. A few changes of the inputs do not
// show how large one shared error can be, so slices that share one are not judged in this case.
at::Tensor Slices::without_shared_errors(const at::Tensor& enough,
                                         const at::Tensor& squared_changes) const {
    const auto [least, most] = squared_changes.aminmax(0);
    const auto changing = enough.logical_and(most.gt(0));
    const auto spread = most.div(least);
    auto judged = enough.clone();
    for (const auto& [first, count] : {std::pair{std::int64_t{0}, rows_}, {rows_, columns_}}) {
        const auto spreads =
            spread.narrow(0, first, count).masked_select(changing.narrow(0, first, count));
        if (spreads.numel() > 0 && spreads.median().item<double>() > kMaxSpread)
            judged.narrow(0, first, count).fill_(false);
    }
    return judged;
}

// Each class gets enough elements, not counting zeros, which any kernel gets right.
void Slices::choose_classes(const at::Tensor& exact, const at::Tensor& eager) {
    // Odd, so that samples of rows of even length come from every column.
    const auto step = (exact.numel() / kSampled) | 1;
    const auto places = at::arange(0, exact.numel(), step, exact.options().dtype(at::kLong));
    const auto [values, order] =
        distances(exact.index_select(0, places), eager.index_select(0, places), nullptr).sort();
    by_magnitude_ = places.index_select(0, order);
    const auto count = values.numel();
    const int top_exponent = std::ilogb(std::max(values[count - 1].item<double>(), 1e-300)) + 1;
    std::vector<double> bounds;
    for (int k = 1; k <= kClasses; ++k)
        bounds.push_back(std::ldexp(1.0, top_exponent - kClassBits * k));
    bounds.push_back(std::numeric_limits<double>::denorm_min());
    const auto below = at::searchsorted(values, at::tensor(bounds, values.options())).to(at::kCPU);
    std::int64_t end = count;
    for (int k = 0; k <= kClasses; ++k) {
        const auto first = below.const_data_ptr<std::int64_t>()[k];
        if (end - first < kMinElements) continue;
        classes_.push_back({bounds[k], first, end - first});
        end = first;
    }
    if (classes_.empty()) classes_.push_back({0, end, 0});
    // The remaining elements are too few for a class of their own: they join the last one.
    auto& last = classes_.back();
    last = {0, 0, last.first + last.count};
}

Slices::Sums Slices::errors(const at::Tensor& exact, const at::Tensor& eager,
                            const at::Tensor& result) const {
    const auto want = exact.reshape({-1}), flat_eager = eager.reshape({-1});
    const auto got = result.reshape({-1});
    return sums([&](const Part& part) {
        const auto got_part = part(got);
        return distances(part(want), part(flat_eager), &got_part);
    });
}

Slices::Sums Slices::sums(const Magnitudes& magnitudes) const {
    const auto count = count_;
    const auto range = [&](std::int64_t first, std::int64_t length) {
        return magnitudes([=](const at::Tensor& flat) { return flat.narrow(0, first, length); });
    };
    Tensors squares, largest;
    at::Tensor column_squares, column_largest;
    const auto chunk = std::max<std::int64_t>(1, kChunk / row_group_) * row_group_;
    for (std::int64_t first = 0; first < count; first += chunk) {
        const auto length = std::min(chunk, count - first);
        const auto off = range(first, length), square = off.square();
        if (const auto whole = length / row_group_ * row_group_; whole > 0) {
            squares.push_back(square.narrow(0, 0, whole).view({-1, row_group_}).sum(1));
            largest.push_back(off.narrow(0, 0, whole).view({-1, row_group_}).amax(1));
        }
        if (columns_ == 0) continue;
        const auto sum = square.view({-1, columns_}).sum(0);
        const auto most = off.view({-1, columns_}).amax(0);
        column_squares = first == 0 ? sum : column_squares.add_(sum);
        column_largest = first == 0 ? most : column_largest.maximum(most);
    }
    if (count % row_group_ != 0) {  // the last rows, with enough before them for a group
        const auto length = std::min(row_group_, count);
        const auto off = range(count - length, length);
        squares.push_back(off.square().sum().view({1}));
        largest.push_back(off.max().view({1}));
    }
    if (columns_ > 0) {
        squares.push_back(column_squares);
        largest.push_back(column_largest);
    }
    const auto off =
        magnitudes([&](const at::Tensor& flat) { return flat.index_select(0, by_magnitude_); });
    const auto square = off.square();
    for (const auto& [least, first, length] : classes_) {
        squares.push_back(square.narrow(0, first, length).sum().view({1}));
        largest.push_back(off.narrow(0, first, length).max().view({1}));
    }
    return {at::cat(squares), at::cat(largest)};
}

Slices::Worst Slices::worst(const at::Tensor& exact, const at::Tensor& eager,
                            const at::Tensor& result) const {
    if (rows_ == 0) return {};
    const auto actual = errors(exact, eager, result);
    // Per slice: the error, the error that is allowed, and the value that both are relative to.
    const auto rms = at::stack({actual.squares.sqrt(), limits_.squares, values_.squares.sqrt()});
    const auto most = at::stack({actual.largest, limits_.largest, values_.largest});
    const auto both = at::cat({rms, most}, 1);
    const auto share = at::where(both[0].gt(0), both[0].div(both[1]), both[0]);
    const auto at = share.argmax();
    const auto found = at::cat({both.index_select(1, at.view({1})).view({-1}),
                                share.max().view({1}), at.to(at::kDouble).view({1})})
                           .to(at::kCPU);
    const auto* numbers = found.const_data_ptr<double>();
    const auto slice = static_cast<std::int64_t>(numbers[4]);
    const auto slices = actual.squares.size(0);
    const double value = numbers[2] > 0 ? numbers[2] : 1;
    return {numbers[3],
            fmt::format("{}: {} error {:.3g}, at most {:.3g} is allowed", name(slice % slices),
                        slice < slices ? "root mean square" : "largest", numbers[0] / value,
                        numbers[1] / value)};
}

std::string Slices::name(std::int64_t slice) const {
    if (slice >= rows_ + columns_) {
        const auto k = static_cast<std::size_t>(slice - rows_ - columns_);
        if (k == 0) return fmt::format("elements from {:.2g} on", classes_[k].least);
        return fmt::format("elements below {:.2g}", classes_[k - 1].least);
    }
    if (slice >= rows_) return fmt::format("column {}", slice - rows_);
    std::int64_t rest = slice * (row_group_ / std::max<std::int64_t>(1, length_));
    std::vector<std::int64_t> at;
    for (std::size_t d = sizes_.size() - 1; d-- > 0; rest /= sizes_[d])
        at.insert(at.begin(), rest % sizes_[d]);
    return at.empty() ? "the row" : fmt::format("row [{}]", fmt::join(at, ", "));
}

}  // namespace fact::exec

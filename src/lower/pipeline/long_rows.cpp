#include "lower/pipeline/long_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "ir/dims.h"
#include "ir/extents.h"
#include "ir/opaque_dims.h"
#include "lower/pipeline/following_sums.h"
#include "lower/pipeline/uses.h"
#include "lower/rows/limits.h"

namespace fact::lower {

namespace {

using ir::BinaryOp;
using ir::contains;
using ir::DimId;
using ir::ExprId;
using ir::ReduceOp;
using ir::UnaryOp;

using Dims = std::vector<DimId>;

// In elements.
constexpr std::int64_t kLongestRow = 16384;  // longer ones do not fit a thread block's registers
constexpr std::int64_t kMaxPart = 4096, kMinPart = 32;
constexpr std::int64_t kRowsOfClusters = 8;  // fewer leave most of a GPU idle
// Thread blocks that keep a GPU busy, if there are kManyElements.
constexpr std::int64_t kManyBlocks = 264;
constexpr std::int64_t kColumnsPerBlock = 32;  // if neighbouring rows are neighbours in memory
constexpr std::int64_t kMaxColumnPart = 512;   // stays in L1 if it is read again, for a deviation

// The largest divisor of `number` that is at most `most`.
std::int64_t divisor(std::int64_t number, std::int64_t most) {
    for (std::int64_t tried = std::min(number, most); tried > 1; --tried)
        if (number % tried == 0) return tried;
    return 1;
}

// What a part of the row is reduced over, and what numbers the parts.
struct Parts {
    Dims inner, outer;
    std::int64_t length = 1;  // elements of a part
};

class Splitter {
  public:
    Splitter(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents, LongRows rows)
        : from_(kernel), to_(kernel), build_(to_), extents_(extents), rows_(rows) {
        to_.exprs.clear();
        extents_.resize(kernel.dims.size(), ir::kUnknownExtent);
        moved_.resize(kernel.exprs.size());
    }

    bool has_split() const { return !split_.empty(); }

    ir::Kernel run() {
        for (std::size_t i = 0; i < from_.exprs.size(); ++i) {
            const auto id = static_cast<ExprId>(i);
            ir::Expr expr = from_.exprs[i];
            const std::size_t first = to_.exprs.size();
            if (const auto split = split_reduction(id)) {
                moved_[i] = *split;
                for (std::size_t e = first; e < to_.exprs.size(); ++e)
                    to_.exprs[e].span = expr.span;
                to_.exprs[ir::index(*split)].name = expr.name;
                to_.exprs[ir::index(*split)].stored = expr.stored;
                // If it is not stored, every element combines the parts again.
                if (is_read_along_row(id)) read_along_row_.push_back(*split);
                continue;
            }
            ir::for_each_operand(expr.node, [&](ExprId& x) { x = moved(x); });
            moved_[i] = to_.add(std::move(expr));
        }
        for (ir::Output& output : to_.outputs) output.value = moved(output.value);
        for (const ExprId id : read_along_row_) store(last_of_row(id));
        ir::drop_dead(to_);
        return std::move(to_);
    }

  private:
    ExprId moved(ExprId id) const { return moved_[ir::index(id)]; }
    template <class Node>
    const Node* as(ExprId id) const {
        return std::get_if<Node>(&from_[id].node);
    }

    // Whether something along the row, not just one number for each row, is computed from a
    // reduction.
    bool is_read_along_row(ExprId reduction) const {
        const Dims over = from_.factors(std::get<ir::Reduce>(from_[reduction].node).over);
        std::vector<bool> depends(from_.exprs.size());
        depends[ir::index(reduction)] = true;
        for (std::size_t i = ir::index(reduction) + 1; i < from_.exprs.size(); ++i) {
            ir::for_each_operand(from_.exprs[i].node, [&](ExprId x) {
                if (depends[ir::index(x)]) depends[i] = true;
            });
            const Dims dims = from_.factors(from_.exprs[i].type.dims);
            if (depends[i] && live_[i] &&
                std::ranges::any_of(over, [&](DimId dim) { return contains(dims, dim); }))
                return true;
        }
        return false;
    }

    // Follows a row's number through what is computed from it alone, such as a mean from a sum, to
    // the last value that others read.
    ExprId last_of_row(ExprId id) const {
        for (;;) {
            const auto users = users_of(to_, id);
            if (users.size() != 1 || to_[id].stored ||
                std::ranges::count(to_.outputs, id, &ir::Output::value) > 0)
                return id;
            const ir::Expr& user = to_[users.front()];
            bool alone = std::holds_alternative<ir::Unary>(user.node) ||
                         std::holds_alternative<ir::Binary>(user.node);
            ir::for_each_operand(user.node, [&](ExprId x) {
                alone &= x == id || std::holds_alternative<ir::Literal>(to_[x].node) ||
                         std::holds_alternative<ir::Extent>(to_[x].node);
            });
            if (!alone || user.type != to_[id].type) return id;
            id = users.front();
        }
    }

    std::int64_t extent(DimId dim) const {
        return to_[dim].extent ? *to_[dim].extent : extents_[ir::index(dim)];
    }
    std::int64_t count(const Dims& dims) const {
        return std::accumulate(dims.begin(), dims.end(), std::int64_t{1},
                               [&](std::int64_t n, DimId dim) { return n * extent(dim); });
    }

    // The reduction in two steps; nullopt if it stays one.
    std::optional<ExprId> split_reduction(ExprId id) {
        if (const auto known = split_.find(id); known != split_.end())
            return combine(id, known->second);
        const auto* reduce = as<ir::Reduce>(id);
        if (!reduce || !live_[ir::index(id)]) return std::nullopt;
        const auto parts = parts_of(id, *reduce);
        if (!parts) return std::nullopt;
        const ExprId part =
            store(build_.reduce(reduce->op, factored(reduce->x, *reduce), parts->inner));
        split_[id] = {*parts, part, {}};
        // What else the same pass over the row can find is stored next to it, so that one kernel
        // computes both.
        for (std::size_t i = ir::index(id) + 1; i < from_.exprs.size(); ++i) {
            const auto later = static_cast<ExprId>(i);
            if (!live_[i] || split_.contains(later)) continue;
            if (is_sum_of_squares(from_, later, id))
                split_[later] = {*parts, store(squares_of_part(id)), id};
            else if (is_sum_of_exponentials(from_, later, id))
                split_[later] = {*parts, store(exponentials_of_part(id)), id};
        }
        return combine(id, split_.at(id));
    }

    struct Split {
        Parts parts;
        ExprId part{};               // in to_
        std::optional<ExprId> from;  // the sum or maximum, in from_, that this reduction follows
    };

    ExprId store(ExprId id) {
        to_.exprs[ir::index(id)].stored = true;
        return id;
    }
    // What a row is made of. A product's dimensions stay whole.
    Dims elements(const Dims& dims) const { return has_product_ ? dims : to_.factors(dims); }
    // The value with the dimensions that the reduction is over as `elements`, the others whole.
    ExprId factored(ExprId id, const ir::Reduce& reduce) {
        const Dims over = elements(reduce.over);
        Dims dims;
        for (const DimId dim : to_[moved(id)].type.dims) {
            const Dims own = elements({dim});
            if (std::ranges::any_of(own, [&](DimId part) { return contains(over, part); }))
                dims.insert(dims.end(), own.begin(), own.end());
            else
                dims.push_back(dim);
        }
        return build_.view(moved(id), dims);
    }

    // The mean of each part, from its sum.
    ExprId mean_of_part(const Split& sum) {
        return build_.binary(BinaryOp::div, sum.part,
                             build_.literal(static_cast<double>(sum.parts.length)));
    }
    ExprId squares_of_part(ExprId sum) {
        const Split& split = split_.at(sum);
        const ExprId mean = mean_of_part(split);
        const auto& reduce = std::get<ir::Reduce>(from_[sum].node);
        const ExprId x = factored(reduce.x, reduce);
        const ExprId centered = build_.binary(BinaryOp::sub, x, mean);
        return build_.reduce(ReduceOp::sum, build_.binary(BinaryOp::mul, centered, centered),
                             split.parts.inner);
    }

    // The maximum of each part; 0 for one whose elements are all -inf, which exp makes 0.
    ExprId top_of_part(const Split& max) {
        const ExprId lowest = build_.literal(-std::numeric_limits<double>::infinity());
        const ExprId is_lowest = build_.binary(BinaryOp::eq, max.part, lowest);
        const ExprId zero = build_.literal(0);
        return build_.select(is_lowest, zero, max.part);
    }
    ExprId exponentials_of_part(ExprId max) {
        const Split& split = split_.at(max);
        const ExprId top = top_of_part(split);
        const auto& reduce = std::get<ir::Reduce>(from_[max].node);
        const ExprId x = factored(reduce.x, reduce);
        const ExprId below = build_.binary(BinaryOp::sub, x, top);
        return build_.reduce(ReduceOp::sum, build_.unary(UnaryOp::exp, below), split.parts.inner);
    }

    // The reduction of the whole row from those of its parts, with its own dimensions.
    ExprId combine(ExprId id, const Split& split) {
        const auto& reduce = std::get<ir::Reduce>(from_[id].node);
        ExprId part = split.part;
        if (split.from) {
            const Split& first = split_.at(*split.from);
            // What was subtracted in the original: the whole row's mean or maximum.
            const auto subtracted = [&](ExprId difference) {
                return factored(std::get<ir::Binary>(from_[difference].node).b, reduce);
            };
            if (std::get<ir::Reduce>(from_[*split.from].node).op == ReduceOp::sum) {
                const ExprId whole = subtracted(std::get<ir::Binary>(from_[reduce.x].node).a);
                const ExprId away = build_.binary(BinaryOp::sub, mean_of_part(first), whole);
                const ExprId square = build_.binary(BinaryOp::mul, away, away);
                const ExprId length = build_.literal(static_cast<double>(first.parts.length));
                const ExprId moved = build_.binary(BinaryOp::mul, square, length);
                part = build_.binary(BinaryOp::add, part, moved);
            } else {
                const ExprId whole = subtracted(std::get<ir::Unary>(from_[reduce.x].node).x);
                const ExprId lower = build_.binary(BinaryOp::sub, top_of_part(first), whole);
                part = build_.binary(BinaryOp::mul, part, build_.unary(UnaryOp::exp, lower));
            }
        }
        return build_.view(build_.reduce(reduce.op, part, split.parts.outer), from_[id].type.dims);
    }

    // How the row of a reduction is split; nullopt if it is not. Splits a dimension if necessary.
    std::optional<Parts> parts_of(ExprId id, const ir::Reduce& reduce) {
        if (ir::repeats_factors(from_, from_[reduce.x].type.dims)) return std::nullopt;
        const Dims all = elements(from_[reduce.x].type.dims);
        Dims over = all;  // in the order in memory
        std::erase_if(over,
                      [named = elements(reduce.over)](DimId dim) { return !contains(named, dim); });
        for (const DimId dim : all)
            if (extent(dim) < 1) return std::nullopt;
        if (is_flipped(over) || all.empty()) return std::nullopt;
        const Dims columns = columns_within(all, over);
        Dims first = over;  // what the parts are made of
        std::erase_if(first, [&](DimId dim) { return contains(columns, dim); });
        const std::int64_t length = count(first), rows = count(all) / length;
        const bool contiguous = columns.empty() && contains(over, all.back());
        const std::int64_t blocks =
            contiguous ? rows : (rows + kColumnsPerBlock - 1) / kColumnsPerBlock;
        const bool many = rows * length >= kManyElements, idle = many && blocks < kManyBlocks;
        const bool too_long = contiguous && length > kLongestRow;
        const std::int64_t longest = contiguous ? kLongestInCluster : kLongestColumnInCluster;
        if (rows_ == LongRows::in_clusters && columns.empty() && length <= longest &&
            rows >= kRowsOfClusters && is_read_along_row(id))
            return std::nullopt;
        if (!idle && !too_long && (!many || columns.empty())) return std::nullopt;
        Parts parts = contiguous ? contiguous_parts(all, over) : column_parts(first, blocks);
        // A dimension may be split now.
        for (const DimId dim : elements(from_[reduce.x].type.dims))
            if (contains(elements(reduce.over), dim) && !contains(parts.inner, dim))
                parts.outer.push_back(dim);
        parts.length = count(parts.inner);
        const bool splits = count(parts.outer) > 1 && parts.length >= kMinPart;
        return splits ? std::optional(parts) : std::nullopt;
    }

    // A short run at the end of the row, apart from the rest of it, such as a group's channels in
    // images that are channels last: the rest is reduced first, with these as columns.
    Dims columns_within(const Dims& all, const Dims& over) const {
        Dims run;
        for (std::size_t i = all.size(); i-- > 0 && contains(over, all[i]);) run.push_back(all[i]);
        if (run.empty() || run.size() == over.size() || count(run) >= kMinPart) return {};
        return run;
    }

    bool is_flipped(const Dims& over) const {
        return std::ranges::any_of(from_.exprs, [&](const ir::Expr& expr) {
            const auto* flip = std::get_if<ir::Flip>(&expr.node);
            return flip && contains(over, flip->dim);
        });
    }

    // Windows and products need their dimensions whole.
    bool may_split(DimId dim) const {
        return !has_product_ && std::ranges::none_of(from_.exprs, [&](const ir::Expr& expr) {
            const auto* window = std::get_if<ir::Window>(&expr.node);
            return window && std::ranges::any_of(window->places, [&](DimId places) {
                       const ir::WindowRule& rule = *from_[places].window;
                       return contains(from_.factors({places, rule.of, rule.taps}), dim);
                   });
        });
    }

    // The innermost dimensions, as many elements as a part may have.
    Parts contiguous_parts(const Dims& all, const Dims& over) {
        Parts parts;
        std::int64_t length = 1;
        for (std::size_t i = all.size(); i-- > 0 && contains(over, all[i]);) {
            const bool whole = !may_split(all[i]);
            const std::int64_t own = extent(all[i]);
            std::int64_t fits = divisor(own, (whole ? kLongestRow : kMaxPart) / length);
            if (whole && parts.inner.empty()) fits = own;  // a loop, in many blocks
            if (fits < own && (whole || fits == 1 || length * fits < kMinPart)) break;
            parts.inner.insert(parts.inner.begin(), fits == own ? all[i] : split(all[i], fits));
            length *= fits;
            if (fits != own) break;
        }
        return parts;
    }

    // Parts of the longest dimension, enough of them to keep the GPU busy.
    Parts column_parts(const Dims& over, std::int64_t blocks) {
        const DimId longest = std::ranges::max(over, {}, [&](DimId dim) { return extent(dim); });
        const std::int64_t wanted = (2 * kManyBlocks + blocks - 1) / blocks;
        if (!may_split(longest)) return whole_column_parts(over, wanted);
        const std::int64_t most = std::min(kMaxColumnPart, extent(longest) / wanted);
        const std::int64_t inner = divisor(extent(longest), std::max(kMinPart, most));
        Parts parts;
        for (const DimId dim : over)
            parts.inner.push_back(dim == longest && inner < extent(dim) ? split(dim, inner) : dim);
        return parts;
    }

    // The outermost dimensions number the parts, as many of them as make `wanted` parts.
    Parts whole_column_parts(const Dims& over, std::int64_t wanted) const {
        Parts parts;
        std::int64_t outer = 1;
        for (const DimId dim : over) {
            if (outer >= wanted)
                parts.inner.push_back(dim);
            else
                outer *= extent(dim);
        }
        return parts;
    }

    // Makes the inner `inner` elements of a dimension a dimension, and returns it.
    DimId split(DimId dim, std::int64_t inner) {
        const auto added = [&](const char* suffix, std::int64_t length) {
            std::string name = (to_[dim].extent ? "D" : "") + to_[dim].name + suffix;
            while (std::ranges::find(to_.dims, name, &ir::Dim::name) != to_.dims.end()) name += '_';
            to_.dims.push_back({std::move(name), length});
            extents_.push_back(length);
            return static_cast<DimId>(to_.dims.size() - 1);
        };
        const DimId outside = added("_part", extent(dim) / inner), inside = added("_in", inner);
        for (ir::Dim& other : to_.dims)
            if (const auto at = std::ranges::find(other.factors, dim); at != other.factors.end()) {
                *at = outside;
                other.factors.insert(at + 1, inside);
            }
        ir::Dim& whole = to_.dims[ir::index(dim)];
        whole.extent.reset();
        whole.factors = {outside, inside};
        return inside;
    }

    const ir::Kernel& from_;
    ir::Kernel to_;
    ir::Builder build_;
    std::vector<std::int64_t> extents_;
    LongRows rows_;
    std::vector<ExprId> moved_;  // from_ to to_
    std::vector<bool> live_ = ir::reachable(from_);
    const bool has_product_ = has_product(from_);
    std::map<ExprId, Split> split_;       // by the reduction in from_
    std::vector<ExprId> read_along_row_;  // combined reductions, in to_
};

}  // namespace

ir::Kernel split_long_rows(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents,
                           LongRows rows) {
    ir::Kernel split = kernel;
    for (;;) {  // the parts of a very long row are a long row themselves
        Splitter splitter(split, extents, rows);
        ir::Kernel next = splitter.run();
        if (!splitter.has_split()) return split;
        split = std::move(next);
    }
}

}  // namespace fact::lower

#include "lower/product/scattered_output.h"

#include <algorithm>

#include "ir/dims.h"
#include "ir/extents.h"
#include "ir/opaque_dims.h"
#include "lower/product/window_operand.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;

constexpr int kMostStoredBytes = 16;  // by one instruction

// A dimension of a value behind reorderings: factors of the product's dimensions.
struct Cell {
    std::vector<DimId> factors;
    std::int64_t before = 0;
    bool cut = false;
};

// The value that the expression reorders or cuts; nullopt if it does something else.
std::optional<ExprId> reordered(const ir::Kernel& kernel, ExprId id) {
    if (const auto* permute = std::get_if<ir::Permute>(&kernel[id].node)) return permute->x;
    if (const auto* view = std::get_if<ir::View>(&kernel[id].node)) return view->x;
    if (!is_cut_off(kernel, id)) return std::nullopt;
    if (const auto* reduce = std::get_if<ir::Reduce>(&kernel[id].node)) return reduce->x;
    return std::get<ir::Window>(kernel[id].node).x;
}

// Follows dimensions through reorderings, one expression after the other.
class Follower {
  public:
    Follower(const ir::Kernel& kernel, const std::vector<DimId>& dims)
        : kernel_(kernel), dims_(dims) {
        for (const DimId dim : dims) cells_.push_back({kernel.factors({dim})});
    }

    // False if the dimensions of `id` are not runs of factors of those before.
    bool follow(ExprId id) {
        const auto& to = kernel_[id].type.dims;
        if (const auto* window = std::get_if<ir::Window>(&kernel_[id].node)) {
            for (const DimId places : window->places) cut(places);
            cells_.resize(to.size());  // taps have no factors
            dims_ = to;
            return true;
        }
        if (std::holds_alternative<ir::View>(kernel_[id].node)) return regroup(to);
        std::vector<Cell> moved;  // a permutation, or one without the taps
        for (const DimId dim : to)
            moved.push_back(cells_[static_cast<std::size_t>(ir::position(dims_, dim))]);
        cells_ = std::move(moved);
        dims_ = to;
        return true;
    }

    const std::vector<Cell>& cells() const { return cells_; }

  private:
    void cut(DimId places) {
        const ir::WindowRule& rule = *kernel_[places].window;
        Cell& cell = cells_[static_cast<std::size_t>(ir::position(dims_, rule.of))];
        cell.cut = true;
        cell.before -= rule.before;
    }

    bool regroup(const std::vector<DimId>& to) {
        std::vector<Cell> moved;
        std::size_t at = 0;  // the next cell
        for (const DimId dim : to) {
            const auto wanted = kernel_.factors({dim});
            Cell cell;
            if (rest_.empty() && at < cells_.size() && cells_[at].cut) {  // only renamed
                cell = cells_[at++];
                if (!kernel_.same_factors({dim}, {dims_[at - 1]})) return false;
            } else {
                while (cell.factors.size() < wanted.size()) {
                    if (rest_.empty()) {
                        if (at == cells_.size() || cells_[at].cut) return false;
                        rest_ = cells_[at++].factors;
                        continue;
                    }
                    cell.factors.push_back(rest_.front());
                    rest_.erase(rest_.begin());
                }
                if (!kernel_.same_factors(cell.factors, wanted)) return false;
            }
            moved.push_back(std::move(cell));
        }
        if (at != cells_.size() || !rest_.empty()) return false;
        cells_ = std::move(moved);
        dims_ = to;
        return true;
    }

    const ir::Kernel& kernel_;
    std::vector<DimId> dims_;
    std::vector<Cell> cells_;  // one for each of dims_
    std::vector<DimId> rest_;  // of the cell that is being split
};

// Where a factor is among the product's dimensions.
struct Origin {
    std::size_t dim = 0, at = 0;  // at: among the dimension's factors
};

class Origins {
  public:
    Origins(const ir::Kernel& kernel, const std::vector<DimId>& dims,
            const std::vector<PlacesInRun>& run)
        : run_(run) {
        for (const DimId dim : dims) factors_.push_back(kernel.factors({dim}));
        extents_.assign(kernel.dims.size(), ir::kUnknownExtent);
        if (!ir::solve_extents(kernel, extents_).empty())
            extents_.assign(kernel.dims.size(), ir::kUnknownExtent);
    }

    std::optional<ScatteredDim> dim(const Cell& cell) const {
        ScatteredDim found{{}, cell.before, cell.cut};
        for (std::size_t i = 0; i < cell.factors.size(); ++i) {
            const auto from = origin(cell.factors[i]);
            if (!from) return std::nullopt;
            const auto& all = factors_[from->dim];
            std::size_t end = i + 1;  // of the run
            while (!runs(from->dim) && end < cell.factors.size() &&
                   from->at + (end - i) < all.size() &&
                   all[from->at + (end - i)] == cell.factors[end])
                ++end;
            ScatteredFactor factor = source(from->dim);
            const auto in_cell = cell.factors.begin(), in_all = all.begin();
            const auto at = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
            factor.own.assign(in_cell + at(i), in_cell + at(end));
            factor.times.assign(in_cell + at(end), cell.factors.end());
            factor.inner.assign(in_all + at(from->at + (end - i)), all.end());
            if (runs(from->dim))
                for (auto* dims : {&factor.own, &factor.inner})
                    for (DimId& dim : *dims) dim = pixels(dim);
            factor.outermost = from->at == 0;
            found.factors.push_back(std::move(factor));
            i = end - 1;
        }
        return found;
    }

    // How many of the rows that are neighbours in memory one instruction stores: as many as it can,
    // if the output's rows are multiples of them, and they begin at one.
    int stored_together(const ScatteredDim& innermost, int rows, int bytes) const {
        const ScatteredFactor& last = innermost.factors.back();
        if (last.source != Source::row || innermost.cut || !run_.empty()) return 1;
        std::int64_t count = 1;
        for (const DimId dim : last.own) {
            const std::int64_t extent = extents_[ir::index(dim)];
            if (extent == ir::kUnknownExtent) return 1;
            count *= extent;
        }
        return count % rows == 0 ? std::min(rows, kMostStoredBytes / bytes) : 1;
    }

    // How many rows are neighbours in memory if `last` is the innermost factor of the output.
    int rows_together(const ScatteredFactor& last) const {
        if (last.source != Source::row || !last.inner.empty()) return 1;
        if (!run_.empty()) return kBoxRows;
        std::int64_t count = 1;
        for (const DimId dim : last.own) {
            const std::int64_t extent = extents_[ir::index(dim)];
            if (extent == ir::kUnknownExtent) return kBoxRows;
            count *= extent;
        }
        return static_cast<int>(count % kBoxRows == 0   ? kBoxRows
                                : kBoxRows % count == 0 ? count
                                                        : 1);
    }

  private:
    // Whether the product's dimension is rows that run over all pixels.
    bool runs(std::size_t dim) const { return !run_.empty() && dim + 2 == factors_.size(); }
    DimId pixels(DimId places) const {
        const auto along = std::ranges::find(run_, places, &PlacesInRun::places);
        if (along == run_.end()) throw InternalError("rows that are no places of windows");
        return along->pixels;
    }

    std::optional<Origin> origin(DimId factor) const {
        for (std::size_t d = 0; d < factors_.size(); ++d)
            if (const int at = ir::position(factors_[d], factor); at >= 0)
                return Origin{d, static_cast<std::size_t>(at)};
        return std::nullopt;
    }
    ScatteredFactor source(std::size_t dim) const {
        ScatteredFactor factor;
        const std::size_t batches = factors_.size() - 2;
        factor.source = dim < batches    ? Source::batch
                        : dim == batches ? Source::row
                                         : Source::column;
        factor.batch = factor.source == Source::batch ? static_cast<int>(dim) : 0;
        return factor;
    }

    const std::vector<PlacesInRun>& run_;
    std::vector<std::vector<DimId>> factors_;  // of each of the product's dimensions
    std::vector<std::int64_t> extents_;        // of dimensions that are constant
};

// ScatteredOutput::run of a product.
std::vector<PlacesInRun> run_of_rows(const ir::Kernel& kernel, const ir::Product& product) {
    const auto windows = window_operand(kernel, product.a, Side::first);
    std::vector<PlacesInRun> run;
    if (windows && windows->run > 0)
        for (const DimId places : windows->places)
            run.insert(run.begin(), {places, kernel[places].window->of});
    return run;
}

}  // namespace

bool is_cut_off(const ir::Kernel& kernel, ExprId id) {
    if (const auto* reduce = std::get_if<ir::Reduce>(&kernel[id].node)) {
        const auto* window = std::get_if<ir::Window>(&kernel[reduce->x].node);
        if (!window || !is_cut_off(kernel, reduce->x) || kernel[reduce->x].stored) return false;
        if (reduce->over.size() != window->places.size()) return false;
        return std::ranges::all_of(window->places, [&](DimId places) {
            return ir::contains(reduce->over, kernel[places].window->taps);
        });
    }
    const auto* window = std::get_if<ir::Window>(&kernel[id].node);
    return window && std::ranges::all_of(window->places, [&](DimId places) {
               const ir::WindowRule& rule = *kernel[places].window;
               return ir::constant_extent(kernel, rule.taps) == 1 && rule.stride == 1 &&
                      rule.before <= 0 && rule.after <= 0;
           });
}

ExprId reordered_by(const ir::Kernel& kernel, const std::vector<ExprId>& steps, ir::Builder& build,
                    ExprId value) {
    for (const ExprId step : steps) {
        const ir::Expr& expr = kernel[step];
        if (const auto* window = std::get_if<ir::Window>(&expr.node))
            value = build.window(value, window->places, window->outside);
        else if (const auto* reduce = std::get_if<ir::Reduce>(&expr.node))
            value = build.reduce(reduce->op, value, reduce->over);
        else if (std::holds_alternative<ir::View>(expr.node))
            value = build.view(value, expr.type.dims);
        else
            value = build.permute(value, expr.type.dims);
    }
    return value;
}

namespace {

// How lanes store the output, whether or not a box of a tensor map would hold its elements.
std::optional<ScatteredOutput> stored_by_lanes(const ir::Kernel& kernel) {
    if (kernel.outputs.size() != 1) return std::nullopt;
    const auto product = std::ranges::find_if(kernel.exprs, [](const ir::Expr& expr) {
        return std::holds_alternative<ir::Product>(expr.node);
    });
    if (product == kernel.exprs.end()) return std::nullopt;
    const std::vector<DimId>& dims = product->type.dims;
    if (ir::repeats_factors(kernel, dims)) return std::nullopt;  // factors are known by their name
    std::vector<ExprId> steps;
    ExprId value = kernel.outputs.front().value;
    while (kernel[value].type.dims != dims) {
        const auto behind = reordered(kernel, value);
        if (!behind) return std::nullopt;
        steps.insert(steps.begin(), value);
        value = *behind;
    }
    Follower follower(kernel, dims);
    for (const ExprId step : steps)
        if (!follower.follow(step)) return std::nullopt;
    ScatteredOutput found;
    found.value = value;
    found.steps = std::move(steps);
    found.run = run_of_rows(kernel, std::get<ir::Product>(product->node));
    const Origins origins(kernel, dims, found.run);
    for (const Cell& cell : follower.cells()) {
        auto dim = origins.dim(cell);
        if (!dim || dim->factors.empty()) return std::nullopt;  // taps are left
        found.dims.push_back(std::move(*dim));
    }
    found.rows_together = origins.rows_together(found.dims.back().factors.back());
    if (const ir::Output& out = kernel.outputs.front(); !out.ragged)
        found.stored_together = origins.stored_together(found.dims.back(), found.rows_together,
                                                        info(out.tensor.type.dtype).bytes);
    return found;
}

}  // namespace

std::optional<ScatteredOutput> scattered_output(const ir::Kernel& kernel) {
    auto found = stored_by_lanes(kernel);
    if (!found || !found->run.empty() || kernel.outputs.front().ragged) return found;
    const bool mixes = std::ranges::any_of(found->dims, [](const ScatteredDim& dim) {
        return dim.has(Source::row) && dim.has(Source::column);
    });
    return mixes ? found : std::nullopt;
}

std::optional<ScatteredOutput> transposed_output(const ir::Kernel& kernel) {
    auto found = stored_by_lanes(kernel);
    if (!found || found->rows_together != kBoxRows || !found->run.empty()) return std::nullopt;
    // The planner asks for rows of whole vectors, and so does the launch record.
    const int bytes = info(kernel.outputs.front().tensor.type.dtype).bytes;
    found->stored_together = std::min(kBoxRows, kMostStoredBytes / bytes);
    return found;
}

}  // namespace fact::lower

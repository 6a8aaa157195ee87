#include <algorithm>
#include <vector>

#include "ir/dims.h"
#include "ir/extents.h"
#include "ir/needed.h"
#include "lower/rows/strips.h"
#include "support/division.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;

constexpr std::int64_t kManyThreads = 132 * 1024;  // that keep a GPU busy
constexpr std::int64_t kMostRegisters = 96;        // for sums and what a line holds
constexpr std::int64_t kMostTaps = 1024;           // of a window
constexpr int kMostNeighbours = 8, kMostPlaces = 4, kMostPlacesOfOne = 8,
              kMostPlacesOfFeatures = 16;
constexpr int kMostFeatures = 16, kWordsTogether = 4;

class Chooser {
  public:
    Chooser(const ir::Kernel& kernel, const RowsForm& form, const RowsFacts& facts)
        : kernel_(kernel), facts_(facts) {
        found_.dims = form;
    }

    std::optional<StripForm> run() {
        if (!found_.dims.narrow || found_.dims.scan || !find_window() || !find_strip() ||
            !can_read_all())
            return std::nullopt;
        choose_features();
        choose_neighbours();
        while (found_.num_neighbours > 1 && registers(1) > kMostRegisters)
            found_.num_neighbours /= 2;
        return share_evenly() ? std::optional(found_) : std::nullopt;
    }

  private:
    bool find_window() {
        int windows = 0, reductions = 0;
        for (const ExprId id : found_.dims.order) {
            if (std::holds_alternative<ir::Window>(kernel_[id].node)) found_.window = id, ++windows;
            if (std::holds_alternative<ir::Reduce>(kernel_[id].node))
                found_.reduction = id, ++reductions;
        }
        if (windows != 1 || reductions != 1 || !info(kernel_[found_.reduction].type.dtype).floating)
            return false;
        const auto& window = std::get<ir::Window>(kernel_[found_.window].node);
        found_.images = *windowed_param(kernel_, found_.window);
        if (!info(kernel_.params[found_.images].type.dtype).floating) return false;
        std::int64_t taps = 1;
        for (const DimId places : window.places) {
            const ir::WindowRule& rule = *kernel_[places].window;
            if (!kernel_[rule.taps].extent || !kernel_[rule.of].factors.empty() ||
                !kernel_[places].factors.empty() || !ir::contains(found_.dims.over, rule.taps))
                return false;
            taps *= *kernel_[rule.taps].extent;
        }
        // What is summed over besides taps: channels.
        for (const DimId dim : found_.dims.over) {
            if (std::ranges::any_of(window.places, [&](DimId places) {
                    return kernel_[places].window->taps == dim;
                }))
                continue;
            if (!kernel_[dim].extent || !has(kernel_.params[found_.images], dim)) return false;
            taps *= *kernel_[dim].extent;
        }
        return taps <= kMostTaps;
    }

    // Neighbours are along what is innermost in memory, strips along the innermost other places.
    bool find_strip() {
        const auto& rows = found_.dims.rows;
        if (rows.empty()) return false;
        found_.neighbours = rows.back();
        const auto innermost = kernel_.factors(kernel_.params[found_.images].type.dims).back();
        const bool windowed = kernel_[found_.neighbours].window.has_value();
        if (innermost != (windowed ? kernel_[found_.neighbours].window->of : found_.neighbours))
            return false;
        for (std::size_t i = 1; i < rows.size(); ++i)
            if (!kernel_[rows[i]].extent) return false;
        const auto& places = std::get<ir::Window>(kernel_[found_.window].node).places;
        for (auto dim = rows.rbegin(); dim != rows.rend(); ++dim) {
            if (*dim == found_.neighbours || !ir::contains(places, *dim)) continue;
            found_.strip = *dim;
            // A line has a stride, which a part of a dimension does not.
            const auto& dims = kernel_.params[found_.images].type.dims;
            return kernel_[*dim].extent && ir::contains(dims, kernel_[*dim].window->of);
        }
        return false;
    }

    bool has(const ir::Tensor& tensor, DimId dim) const {
        return ir::contains(kernel_.factors(tensor.type.dims), dim);
    }

    // The parameters that the reduction reads besides the images.
    std::vector<std::uint32_t> reduced_params() const {
        const auto reduced =
            ir::needed_for(kernel_, {std::get<ir::Reduce>(kernel_[found_.reduction].node).x},
                           [&](ExprId id) { return id == found_.window; });
        std::vector<std::uint32_t> params;
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (const auto* param = std::get_if<ir::Param>(&kernel_.exprs[i].node);
                param && reduced[i])
                params.push_back(param->index);
        return params;
    }

    // Results have the neighbours innermost. What the reduction reads besides the images is the
    // same for all places of a strip, or for all neighbours.
    bool can_read_all() {
        for (const std::uint32_t param : reduced_params()) {
            const ir::Tensor& tensor = kernel_.params[param];
            if (!has(tensor, found_.strip)) continue;
            if (has(tensor, found_.neighbours)) return false;
        }
        return std::ranges::all_of(kernel_.outputs, [&](const ir::Output& output) {
            return info(output.tensor.type.dtype).floating &&
                   is_innermost(kernel_, output.tensor, found_.neighbours);
        });
    }

    void choose_features() {
        for (const std::uint32_t param : reduced_params()) {
            const ir::Tensor& weights = kernel_.params[param];
            auto dims = kernel_.factors(weights.type.dims);
            // Other weights and other neighbours would be read for the first feature only.
            const auto only_here = [&](DimId dim) {
                return may_be_features(dim) &&
                       std::ranges::none_of(reduced_params(), [&](std::uint32_t other) {
                           return other != param && has(kernel_.params[other], dim);
                       });
            };
            if (dims.empty() || !only_here(dims.back()) || has(weights, found_.neighbours))
                continue;
            found_.features = dims.back();
            found_.weights = param;
            dims.pop_back();
            if (!dims.empty() && only_here(dims.back())) found_.groups = dims.back();
            const int alignment = param < facts_.alignment.size() ? facts_.alignment[param] : 16;
            find_counts(info(weights.type.dtype).bytes, alignment);
            return;
        }
    }

    // A dimension of known extent that results have, and images lack.
    bool may_be_features(DimId dim) const {
        return dim != found_.neighbours && dim != found_.strip && kernel_[dim].extent &&
               ir::contains(found_.dims.rows, dim) && !has(kernel_.params[found_.images], dim);
    }

    // How many features a thread may compute, and in how many groups: so that their weights are
    // read by whole accesses.
    void find_counts(int bytes, int alignment) {
        const auto add = [&](std::int64_t features, std::int64_t groups) {
            const std::int64_t all = features * groups;
            const std::int64_t access = std::min<std::int64_t>(16, all * bytes);
            if (all > 1 && all <= kMostFeatures && all * bytes % access == 0 &&
                alignment % access == 0)
                counts_.push_back({static_cast<int>(all), static_cast<int>(groups)});
        };
        const std::int64_t features = *kernel_[*found_.features].extent;
        const std::int64_t groups = found_.groups ? *kernel_[*found_.groups].extent : 1;
        for (int count = kMostFeatures; count > 1; count /= 2) {
            if (groups % count == 0) add(features, count);
            if (features % count == 0) add(count, 1);
        }
    }

    void choose_neighbours() {
        if (kernel_[found_.neighbours].window || !kernel_[found_.neighbours].extent) return;
        const std::int64_t extent = *kernel_[found_.neighbours].extent;
        const auto fits = [&](int count) {
            const auto fits_tensor = [&](std::size_t number, const ir::Tensor& tensor) {
                const int bytes = std::min(16, count * info(tensor.type.dtype).bytes);
                return !is_innermost(kernel_, tensor, found_.neighbours) ||
                       number >= facts_.alignment.size() || facts_.alignment[number] >= bytes;
            };
            bool all = extent % count == 0 &&
                       count * info(kernel_.params[found_.images].type.dtype).bytes <= 16;
            for (std::size_t i = 0; i < kernel_.params.size(); ++i)
                all = all && fits_tensor(i, kernel_.params[i]);
            for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
                all = all && fits_tensor(kernel_.params.size() + i, kernel_.outputs[i].tensor);
            return all;
        };
        for (int count = kMostNeighbours; count > 1; count /= 2)
            if (fits(count)) {
                found_.num_neighbours = count;
                return;
            }
    }

    // For the sums of so many places and for what their line holds of the images.
    std::int64_t registers(std::int64_t places) const {
        const ir::WindowRule& rule = *kernel_[found_.strip].window;
        std::vector<bool> seen(
            static_cast<std::size_t>(line_length(kernel_, found_.strip, places)));
        for (std::int64_t place = 0; place < places; ++place)
            for (std::int64_t tap = 0; tap < *kernel_[rule.taps].extent; ++tap)
                seen[static_cast<std::size_t>(place * rule.stride + tap * rule.dilation)] = true;
        const int bytes = info(kernel_.params[found_.images].type.dtype).bytes;
        const std::int64_t weights = found_.num_features > 1 ? found_.num_features : 0;
        return found_.num_features * found_.num_neighbours * places + weights +
               std::ranges::count(seen, true) * ceil_div(found_.num_neighbours * bytes, 4);
    }

    void choose_places() {
        found_.num_places = 1;
        const ir::WindowRule& rule = *kernel_[found_.strip].window;
        const std::int64_t reach = (*kernel_[rule.taps].extent - 1) * rule.dilation + 1;
        if (rule.stride >= reach) return;  // places share nothing
        std::int64_t rows = 1;
        for (const DimId dim : found_.dims.rows)
            rows *= std::max<std::int64_t>(1, facts_.known(kernel_, dim));
        const std::int64_t extent = *kernel_[found_.strip].extent;
        const auto fits = [&](std::int64_t count) {
            return count <= extent && registers(count) <= kMostRegisters &&
                   rows / (found_.num_features * found_.num_neighbours * count) >= kManyThreads;
        };
        const int most = found_.num_neighbours > 1 ? kMostPlaces
                         : found_.features         ? kMostPlacesOfFeatures
                                                   : kMostPlacesOfOne;
        for (int count = most; count > 1; count /= 2)
            if (fits(count)) {
                found_.num_places = count;
                return;
            }
    }

    // Fewer features may leave room for more places: a weight is then read for more sums, an
    // element of the images for fewer. False if no choice fits into the registers.
    bool share_evenly() {
        std::optional<StripForm> best;
        for (const auto& [features, groups] : counts_) {
            found_.num_features = features, found_.num_groups = groups;
            if (registers(1) > kMostRegisters) continue;
            choose_places();
            if (!best || cycles_of_sum(found_) < cycles_of_sum(*best)) best = found_;
        }
        found_.num_features = found_.num_groups = 1;
        if (!best && registers(1) <= kMostRegisters) {
            found_.features.reset();
            choose_places();
            best = found_;
        }
        if (best) found_ = *best;
        if (found_.num_groups == 1) found_.groups.reset();
        return best.has_value();
    }

    // The cycles of a warp for a sum of a line's taps: those of its instructions, or those in which
    // the four warps that run beside each other get a word for each of their threads.
    double cycles_of_sum(const StripForm& form) const {
        constexpr double kOfElement = 3;  // instructions to find and to read it
        constexpr double kOfWord = 5;     // four, and some that are lost
        const auto taps = static_cast<double>(*kernel_[kernel_[form.strip].window->taps].extent);
        const auto line = static_cast<double>(line_length(kernel_, form.strip, form.num_places)) *
                          form.num_neighbours;
        const double sums = 1.0 * form.num_places * form.num_neighbours * form.num_features;
        const double weights = taps * form.num_features;
        const double instructions = sums * taps + kOfElement * line + weights / kWordsTogether;
        return std::max(instructions, kOfWord * (line + weights)) / sums;
    }

    const ir::Kernel& kernel_;
    const RowsFacts& facts_;
    StripForm found_;
    struct Count {
        int features, groups;
    };
    std::vector<Count> counts_;  // how many features a thread may compute
};

}  // namespace

bool is_innermost(const ir::Kernel& kernel, const ir::Tensor& tensor, DimId dim) {
    const auto factors = kernel.factors(tensor.type.dims);
    return !factors.empty() && factors.back() == dim;
}

std::int64_t line_length(const ir::Kernel& kernel, DimId strip, std::int64_t places) {
    const ir::WindowRule& rule = *kernel[strip].window;
    return (places - 1) * rule.stride + (*kernel[rule.taps].extent - 1) * rule.dilation + 1;
}

std::optional<StripForm> strip_form(const ir::Kernel& kernel, const RowsForm& form,
                                    const RowsFacts& facts) {
    return Chooser(kernel, form, facts).run();
}

}  // namespace fact::lower

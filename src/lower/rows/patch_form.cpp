#include <algorithm>

#include "ir/dims.h"
#include "lower/record/record_parts.h"
#include "lower/rows/patches.h"
#include "support/division.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;
using Numbers = std::array<std::int64_t, 3>;

constexpr std::int64_t kWidestPixel = 64, kMostPatchFeatures = 128, kLeastPatchFeatures = 8;
constexpr std::int64_t kMostExactSteps = 9;
constexpr std::int64_t kManyPlaces = 132 * 256;  // that keep a GPU busy
constexpr std::int64_t kMostSharedBytes = 226 * 1024;
constexpr std::int64_t kRun = 128, kChunk = 8;  // as in patches.cuh

// What PatchLayout computes of the same numbers.
struct Layout {
    std::int64_t steps, columns, blocks, pitch, numbered, pixels, planes;

    explicit Layout(const PatchShape& shape) {
        const bool paired = shape.num_channels <= kChunk / 2;
        planes = paired ? 1 : ceil_div(shape.num_channels, kChunk);
        const std::int64_t across =
            paired ? ceil_div(shape.taps[2], std::int64_t{2}) : shape.taps[2];
        steps = ceil_div(shape.taps[0] * planes * shape.taps[1] * across, std::int64_t{2});
        columns = shape.num_features > 32   ? 64
                  : shape.num_features > 16 ? 32
                  : shape.num_features > 8  ? 16
                                            : 8;
        blocks = ceil_div(shape.num_features, columns);
        pitch = shape.num_places[2] + (shape.taps[2] - 1) * shape.dilation[2];
        numbered = (shape.num_places[1] - 1) * pitch + shape.num_places[2];
        const std::int64_t widest = kRun * shape.runs + (shape.taps[2] - 1) * shape.dilation[2];
        const std::int64_t piece = std::min(widest, pitch);
        pixels = (shape.taps[1] - 1) * shape.dilation[1] * piece + widest;
    }
    std::int64_t bytes(const PatchShape& shape) const {
        const std::int64_t weights = shape.parts * blocks * steps * 2 * columns * 16;
        const std::int64_t patch = shape.parts * shape.taps[0] * planes * pixels * 16;
        const bool paired = shape.num_channels <= kChunk / 2;
        const std::int64_t read = pixels + (paired ? shape.dilation[2] : 0);
        const std::int64_t fetched =
            shape.fetches ? shape.taps[0] * read * shape.num_channels * 4 : 0;
        const std::int64_t turned = std::min<std::int64_t>(columns, 16) * 36 * 4;
        return weights + ceil_div(blocks * columns * 4, std::int64_t{16}) * 16 +
               shape.groups * (patch + ceil_div(fetched, std::int64_t{16}) * 16 + 4 * turned);
    }
};

class PatchFinder {
  public:
    PatchFinder(const ir::Kernel& kernel, const RowsForm& form, const RowsFacts& facts)
        : kernel_(kernel), facts_(facts) {
        found_.dims = form;
    }

    std::optional<PatchForm> run() {
        const bool found = can_start_early(facts_.arch) && !found_.dims.scan && find_sum() &&
                           find_dims() && find_numbers() && stores_rows() && choose_patches(found_);
        if (!found) return std::nullopt;
        choose_together();
        return found_;
    }

  private:
    // What is behind copies of a factor of the sum, and whether it is rounded to TF32.
    std::pair<ExprId, bool> factor(ExprId id) const {
        bool rounded = false;
        while (true) {
            const ir::Node& node = kernel_[id].node;
            if (const auto* expand = std::get_if<ir::Expand>(&node)) {
                id = expand->x;
            } else if (const auto* permute = std::get_if<ir::Permute>(&node)) {
                id = permute->x;
            } else if (const auto* unary = std::get_if<ir::Unary>(&node);
                       unary && unary->op == ir::UnaryOp::tf32) {
                id = unary->x, rounded = true;
            } else {
                return {id, rounded};
            }
        }
    }

    // The only reduction: a sum of windows times weights.
    bool find_sum() {
        int reductions = 0, windows = 0;
        for (const ExprId id : found_.dims.order) {
            if (std::holds_alternative<ir::Reduce>(kernel_[id].node))
                found_.reduction = id, ++reductions;
            windows += std::holds_alternative<ir::Window>(kernel_[id].node) ? 1 : 0;
        }
        if (reductions != 1 || windows != 1) return false;
        const auto& reduce = std::get<ir::Reduce>(kernel_[found_.reduction].node);
        const auto* product = std::get_if<ir::Binary>(&kernel_[reduce.x].node);
        if (reduce.op != ir::ReduceOp::sum || !product || product->op != ir::BinaryOp::mul)
            return false;
        const auto [a, a_rounded] = factor(product->a);
        const auto [b, b_rounded] = factor(product->b);
        window_ = std::get_if<ir::Window>(&kernel_[a].node);
        const auto* weights = std::get_if<ir::Param>(&kernel_[b].node);
        if (!window_ || !weights || a_rounded != b_rounded || window_->outside != 0) return false;
        found_.images = *windowed_param(kernel_, a);
        found_.weights = weights->index;
        found_.parts = a_rounded ? 1 : 2;
        return images().type.dtype == DType::f32 && weights_of().type.dtype == DType::f32;
    }

    const ir::Tensor& images() const { return kernel_.params[found_.images]; }
    const ir::Tensor& weights_of() const { return kernel_.params[found_.weights]; }
    bool has(const ir::Tensor& tensor, DimId dim) const {
        return ir::contains(kernel_.factors(tensor.type.dims), dim);
    }

    bool find_dims() {
        found_.places = window_->places;
        if (found_.places.size() > 3) return false;
        for (const DimId dim : found_.dims.rows) {
            if (ir::contains(found_.places, dim)) {
                if (has(weights_of(), dim)) return false;
                continue;
            }
            const bool of_images = has(images(), dim);
            if (of_images == has(weights_of(), dim)) return false;
            (of_images ? found_.batch : found_.features).push_back(dim);
        }
        std::vector<DimId> channels = found_.dims.over;
        for (const DimId places : found_.places) std::erase(channels, kernel_[places].window->taps);
        if (channels.size() != 1 || found_.batch.size() > 1 || found_.features.empty())
            return false;
        found_.channel = channels.front();
        // A pixel's channels are found by one stride.
        return ir::contains(images().type.dims, found_.channel) &&
               images().type.dims.size() == found_.places.size() + 1 + found_.batch.size();
    }

    bool find_numbers() {
        const auto known = [&](DimId dim, std::int64_t& number) {
            number = kernel_[dim].extent.value_or(0);
            return number > 0;
        };
        for (const DimId dim : found_.features) {
            std::int64_t count = 0;
            if (!known(dim, count)) return false;
            found_.num_features *= count;
        }
        if (!known(found_.channel, found_.num_channels)) return false;
        for (std::size_t i = 0; i < found_.places.size(); ++i) {
            const std::size_t at = 3 - found_.places.size() + i;
            const ir::WindowRule& rule = *kernel_[found_.places[i]].window;
            if (rule.stride != 1 || !ir::contains(found_.dims.over, rule.taps) ||
                !ir::contains(images().type.dims, rule.of) || !known(rule.taps, found_.taps[at]) ||
                !known(rule.of, found_.image[at]) ||
                !known(found_.places[i], found_.num_places[at]))
                return false;
            found_.dilation[at] = rule.dilation;
            found_.before[at] = rule.before;
        }
        for (const DimId dim : found_.batch)
            found_.num_images = std::max<std::int64_t>(1, facts_.known(kernel_, dim));
        return true;
    }

    // One result, whose rows of places are contiguous, as those of the images are.
    bool stores_rows() const {
        const auto is_last = [&](const ir::Tensor& tensor, DimId dim) {
            return kernel_.factors(tensor.type.dims).back() == dim;
        };
        const DimId columns = found_.places.back();
        const auto is_summed = [&](DimId dim) { return ir::contains(found_.dims.over, dim); };
        return kernel_.outputs.size() == 1 &&
               std::ranges::none_of(kernel_.factors(kernel_.outputs.front().tensor.type.dims),
                                    is_summed) &&
               info(kernel_.outputs.front().tensor.type.dtype).floating &&
               is_last(kernel_.outputs.front().tensor, columns) &&
               is_last(images(), kernel_[columns].window->of);
    }

    // Whole accesses of 16 bytes at most. Rows of places begin at multiples of what is together.
    void choose_together() {
        const std::size_t output = kernel_.params.size();
        const int bytes = info(kernel_.outputs.front().tensor.type.dtype).bytes;
        const int alignment = output < facts_.alignment.size() ? facts_.alignment[output] : 16;
        const std::int64_t pitch = Layout(found_).pitch;
        for (found_.together = 16 / bytes; found_.together > 1; found_.together /= 2)
            if (found_.together <= 4 && alignment % (found_.together * bytes) == 0 &&
                found_.num_places[2] % found_.together == 0 && pitch % found_.together == 0)
                return;
    }

    const ir::Kernel& kernel_;
    const RowsFacts& facts_;
    PatchForm found_;
    const ir::Window* window_ = nullptr;
};

}  // namespace

std::int64_t PatchShape::tiles() const {
    return num_places[0] * ceil_div(Layout(*this).numbered, kRun * runs);
}

bool choose_patches(PatchShape& shape) {
    if (shape.num_channels > kWidestPixel || shape.num_features < kLeastPatchFeatures ||
        shape.num_features > kMostPatchFeatures)
        return false;
    std::int64_t places = shape.num_images;
    for (const std::int64_t count : shape.num_places) places *= count;
    if (places < kManyPlaces) return false;
    const Layout layout(shape);
    // The tensor core adds up longer sums less accurately than torch does.
    if (shape.parts == 2 && layout.steps > kMostExactSteps) return false;
    const std::int64_t most = 64 / layout.columns;
    for (shape.groups = 4; shape.groups > 1; --shape.groups)
        for (const bool fetches : {true, false}) {
            shape.fetches = fetches;
            for (shape.runs = static_cast<int>(std::min<std::int64_t>(4, most)); shape.runs > 0;
                 shape.runs /= 2) {
                shape.shared_bytes = static_cast<int>(Layout(shape).bytes(shape));
                if (shape.shared_bytes <= kMostSharedBytes) return true;
            }
        }
    return false;
}

std::optional<PatchForm> patch_form(const ir::Kernel& kernel, const RowsForm& form,
                                    const RowsFacts& facts) {
    return PatchFinder(kernel, form, facts).run();
}

}  // namespace fact::lower

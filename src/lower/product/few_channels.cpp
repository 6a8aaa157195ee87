#include "lower/product/few_channels.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/product/rewritten.h"
#include "lower/product/window_operand.h"
#include "support/division.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;

constexpr std::int64_t kMapBytes = 16;  // strides of a tensor map are multiples
constexpr std::int64_t kMostLines = 4;  // of memory, in a block of neighbours

// Windows along one dimension. Those whose step is not one look at blocks of as many neighbours,
// which become channels of one pixel, and so have fewer taps and a step of one.
struct Along {
    DimId places{};
    std::int64_t step = 1, taps = 1;
    std::int64_t blocks = 1;  // taps of the new windows
};

// A convolution of few channels, and what its sizes become.
struct FewChannels {
    Side side{};  // of the windows
    WindowOperand windows;
    ExprId weights{};                     // the other operand
    DimId channel{};                      // of the images
    std::int64_t channels = 0, wide = 0;  // now, and with zeros
    std::vector<Along> along = {};        // outermost first
};

// How many expressions read each one.
std::vector<int> num_users(const ir::Kernel& kernel) {
    std::vector<int> users(kernel.exprs.size());
    const auto live = ir::reachable(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i)
        if (live[i])
            ir::for_each_operand(kernel.exprs[i].node, [&](ExprId x) { ++users[ir::index(x)]; });
    return users;
}

class Finder {
  public:
    Finder(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents)
        : kernel_(kernel), extents_(extents), users_(num_users(kernel)) {}

    // nullopt if the product reads no such windows, or not in a way that can be rewritten.
    std::optional<FewChannels> find(const ir::Product& product) const {
        for (const Side side : {Side::first, Side::second}) {
            const ExprId operand = side == Side::first ? product.a : product.b;
            const ExprId weights = side == Side::first ? product.b : product.a;
            auto windows = window_operand(kernel_, operand, side);
            if (!windows || windows->image < 0 || !are_dense(*windows) || !is_alone(operand))
                continue;
            if (kernel_[weights].type.dims.size() != 2) continue;
            FewChannels found{side, std::move(*windows), weights};
            if (measure(found, product.precision)) return found;
        }
        return std::nullopt;
    }

  private:
    bool are_dense(const WindowOperand& windows) const {
        return std::ranges::all_of(windows.places, [&](DimId places) {
            const ir::WindowRule& rule = *kernel_[places].window;
            // What a block has is a divisor of a line, or lines.
            return std::has_single_bit(static_cast<std::uint64_t>(rule.stride)) &&
                   rule.dilation == 1 && rule.before >= 0 && (rule.stride > 1 || rule.after >= 0) &&
                   ir::constant_extent(kernel_, rule.taps) >= rule.stride;
        });
    }

    // Whether nothing else sees these windows: their places come to be of other images.
    bool is_alone(ExprId id) const {
        for (;; ir::for_each_operand(kernel_[id].node, [&](ExprId x) { id = x; })) {
            if (users_[ir::index(id)] != 1) return false;
            if (std::holds_alternative<ir::Window>(kernel_[id].node)) break;
        }
        const auto& places = std::get<ir::Window>(kernel_[id].node).places;
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
            const auto* other = std::get_if<ir::Window>(&kernel_.exprs[i].node);
            if (!other || i == ir::index(id) || users_[i] == 0) continue;
            for (const DimId dim : places)
                if (ir::contains(other->places, dim)) return false;
        }
        return true;
    }

    bool measure(FewChannels& found, ir::Precision precision) const {
        const ir::Type& images = kernel_[found.windows.images].type;
        const std::int64_t element = info(images.dtype).bytes;
        found.channel = images.dims.back();
        found.channels = extents_[ir::index(found.channel)];
        const ir::Dim& channel = kernel_[found.channel];
        if (!info(images.dtype).floating || found.channels < 1 || found.channels > kLineBytes)
            return false;
        if (!ir::constant_extent(kernel_, found.channel) &&
            (channel.window || !channel.factors.empty()))
            return false;
        std::int64_t block = 1;
        for (const DimId places : found.windows.places) {
            const ir::WindowRule& rule = *kernel_[places].window;
            const std::int64_t taps = *ir::constant_extent(kernel_, rule.taps);
            const Along along{places, rule.stride, taps, ceil_div(taps, rule.stride)};
            found.along.insert(found.along.begin(), along);
            block *= along.step;
        }
        const auto at_least = static_cast<std::uint64_t>(
            std::max(found.channels, ceil_div(kMapBytes, element * block)));
        found.wide = static_cast<std::int64_t>(std::bit_ceil(at_least));
        // TMA's windows take these channels too, but fill up a line with zeros for every tap.
        const bool split = images.dtype == DType::f32 && precision == ir::Precision::exact;
        const bool has_windows = !split && found.channels * element % kMapBytes == 0;
        if (found.wide * element > (has_windows ? kLineBytes / 4 : kLineBytes / 2)) return false;
        const std::int64_t pixel = block * found.wide * element;
        if (pixel > kMostLines * kLineBytes) return false;
        if (pixel < kLineBytes)
            found.along.back().blocks = round_up(found.along.back().blocks, kLineBytes / pixel);
        return true;
    }

    const ir::Kernel& kernel_;
    const std::vector<std::int64_t>& extents_;
    std::vector<int> users_;
};

// Adds the product of a convolution to `to`, over new dimensions.
class Rewriter {
  public:
    Rewriter(ir::Kernel& to, ir::Builder& build, FewChannels found)
        : to_(to), build_(build), found_(std::move(found)) {}

    ExprId run(const ir::Expr& expr) {
        const auto& product = std::get<ir::Product>(expr.node);
        const bool is_first = found_.side == Side::first;
        // The number of channels is the same in all calls of the kernel.
        if (!ir::constant_extent(to_, found_.channel))
            to_.dims[ir::index(found_.channel)].extent = found_.channels;

        wide_ = found_.wide == found_.channels
                    ? found_.channel
                    : constant(to_[found_.channel].name + "_wide", found_.wide);
        if (wide_ != found_.channel) no_channel_ = one_of(found_.channel, wide_);
        for (const Along& along : found_.along) {
            const DimId taps = to_[along.places].window->taps;
            const std::string name = to_[taps].name;  // dimensions are added below
            taps_.push_back(taps);
            const bool same = along.step == 1 && along.blocks == along.taps;
            const char* suffix = along.step == 1 ? "_long" : "_blocks";
            blocks_.push_back(same ? taps : constant(name + suffix, along.blocks));
            if (along.step == 1) continue;
            pixel_.push_back(constant(name + "_in", along.step));
            // Weights have zeros where the last block ends after them.
            const std::int64_t zeros = along.blocks * along.step - along.taps;
            to_.dims[ir::index(blocks_.back())].window =
                ir::WindowRule{taps, pixel_.back(), along.step, 1, 0, zeros};
        }
        pixel_.push_back(wide_);
        const ExprId images = padded_images();
        const ExprId weights = padded_weights(is_first ? product.b : product.a);

        std::vector<DimId> places;
        for (std::size_t i = 0; i < found_.along.size(); ++i) {
            places.push_back(found_.along[i].places);
            to_.dims[ir::index(places[i])].window =
                ir::WindowRule{to_[images].type.dims[i + 1], blocks_[i]};
        }
        const DimId batch = to_[images].type.dims.front();
        std::vector<DimId> depth = blocks_, order{batch};
        depth.push_back(to_[images].type.dims.back());
        order.insert(order.end(), places.begin(), places.end());
        order.insert(order.end(), depth.begin(), depth.end());
        const DimId k = to_.factored_dim(depth), rows = to_.factored_dim(places);
        const ExprId seen = build_.permute(build_.window(images, places), order);
        const DimId f = to_[weights].type.dims.front();
        const ExprId sums =
            build_.product(build_.view(seen, {batch, rows, k}),
                           build_.transpose(build_.view(weights, {f, k})), product.precision);
        to_.exprs[ir::index(sums)].name = expr.name;
        to_.exprs[ir::index(sums)].span = expr.span;
        const ExprId result = is_first ? build_.view(sums, expr.type.dims)
                                       : build_.view(build_.transpose(sums), expr.type.dims);
        to_.exprs[ir::index(result)].stored = expr.stored;
        return result;
    }

  private:
    std::string unused(std::string name) const {
        std::ranges::replace(name, '*', '_');
        if (name.front() >= '0' && name.front() <= '9') name.insert(0, 1, 'n');
        const auto taken = [&](const auto& named) { return named.name == name; };
        const auto is_output = [&](const ir::Output& output) { return taken(output.tensor); };
        while (std::ranges::any_of(to_.dims, taken) || std::ranges::any_of(to_.params, taken) ||
               std::ranges::any_of(to_.outputs, is_output))
            name += '_';
        return name;
    }
    DimId add(ir::Dim dim) {
        dim.name = unused(std::move(dim.name));
        to_.dims.push_back(std::move(dim));
        return static_cast<DimId>(to_.dims.size() - 1);
    }
    DimId constant(std::string name, std::int64_t extent) { return add({std::move(name), extent}); }

    // The only place of a window of all elements along `of`, and of zeros after them.
    DimId one_of(DimId of, DimId taps) {
        const std::int64_t zeros = *ir::constant_extent(to_, taps) - *ir::constant_extent(to_, of);
        return add({to_[of].name + "_all", 1, {}, ir::WindowRule{of, taps, 1, 1, 0, zeros}});
    }

    // The value seen through windows, less the dimensions `over`, each of one element; what the
    // windows of blocks see comes before the channels, with which it is one dimension.
    ExprId seen(ExprId x, const std::vector<DimId>& places, const std::vector<DimId>& over,
                std::vector<DimId> order, std::string_view name) {
        if (places.empty()) return x;
        const DType dtype = to_[x].type.dtype;
        x = build_.window(x, places);
        if (!over.empty()) x = build_.cast(dtype, build_.reduce(ir::ReduceOp::sum, x, over));
        std::vector<DimId> merged = order;
        order.insert(order.end() - 1, pixel_.begin(), pixel_.end() - 1);
        x = build_.permute(x, order);
        if (pixel_.size() > 1) {
            merged.back() = to_.factored_dim(pixel_);
            x = build_.view(x, merged);
        }
        to_.exprs[ir::index(x)].name = name;
        to_.exprs[ir::index(x)].stored = true;
        return x;
    }

    ExprId padded_images() {
        const ExprId images = found_.windows.images;
        std::vector<DimId> order = to_[images].type.dims, all, over;
        std::size_t block = 0;
        for (std::size_t i = 0; i < found_.along.size(); ++i) {
            const Along& along = found_.along[i];
            const ir::WindowRule rule = *to_[along.places].window;
            const std::int64_t after = rule.after + along.blocks * along.step - along.taps;
            if (along.step == 1 && rule.before == 0 && after == 0) continue;
            if (along.step == 1) over.push_back(constant("E", 1));
            const DimId taps = along.step == 1 ? over.back() : pixel_[block++];
            order[i + 1] = add({to_[rule.of].name + "_padded",
                                {},
                                {},
                                ir::WindowRule{rule.of, taps, along.step, 1, rule.before, after}});
            all.push_back(order[i + 1]);
        }
        widen_channels(order, all, over);
        return seen(images, all, over, order, "padded");
    }

    // The weights as [F, taps, channels] with zeros, from [F, K] or [K, F] of the product.
    ExprId padded_weights(ExprId x) {
        if (found_.side == Side::first) x = build_.transpose(x);
        std::vector<DimId> apart{to_[x].type.dims.front()};
        apart.insert(apart.end(), taps_.begin(), taps_.end());
        apart.push_back(found_.channel);
        const auto* merged = std::get_if<ir::View>(&to_[x].node);
        x = merged && to_[merged->x].type.dims == apart ? merged->x : build_.view(x, apart);
        std::vector<DimId> order = apart, all, over;
        for (std::size_t i = 0; i < taps_.size(); ++i) {
            if (blocks_[i] == taps_[i]) continue;
            order[i + 1] = blocks_[i];
            if (to_[blocks_[i]].window) {
                all.push_back(blocks_[i]);
            } else {
                all.push_back(one_of(taps_[i], blocks_[i]));
                over.push_back(all.back());
            }
        }
        widen_channels(order, all, over);
        return seen(x, all, over, order, "padded_weights");
    }

    void widen_channels(std::vector<DimId>& order, std::vector<DimId>& places,
                        std::vector<DimId>& over) const {
        if (!no_channel_) return;
        order.back() = wide_;
        places.push_back(*no_channel_);
        over.push_back(*no_channel_);
    }

    ir::Kernel& to_;
    ir::Builder& build_;
    const FewChannels found_;
    std::vector<DimId> taps_, blocks_;  // of the windows as they were, and of the new ones
    std::vector<DimId> pixel_;          // what a pixel consists of: neighbours, then channels
    DimId wide_{};                      // the channels and zeros
    std::optional<DimId> no_channel_;   // the place of the window that adds these zeros
};

}  // namespace

ir::Kernel with_few_channels(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents) {
    const ir::Kernel ordered = with_channels_last(kernel);
    const Finder finder(ordered, extents);
    bool found_any = false;
    ir::Kernel result =
        rewritten(ordered, [&](ir::Kernel& to, ir::Builder& build, std::size_t i, ir::Expr expr) {
            const auto* before = std::get_if<ir::Product>(&ordered.exprs[i].node);
            auto found = before ? finder.find(*before) : std::nullopt;
            if (!found) return to.add(std::move(expr));
            found_any = true;
            const auto& product = std::get<ir::Product>(expr.node);
            const bool is_first = found->side == Side::first;
            found->windows = *window_operand(to, is_first ? product.a : product.b, found->side);
            return Rewriter(to, build, std::move(*found)).run(expr);
        });
    if (!found_any) return kernel;
    ir::drop_dead(result);
    return result;
}

}  // namespace fact::lower

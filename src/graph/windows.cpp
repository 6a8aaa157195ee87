#include "graph/windows.h"

#include <algorithm>
#include <string_view>

#include "graph/arguments.h"
#include "graph/identity.h"

namespace fact::graph {

namespace {

struct WindowOperator {
    std::string_view name;  // without "aten." and overload
    std::size_t rank = 1;   // dimensions that windows go over; 0: told by the weight
    WindowKind kind{};
    bool adaptive = false;  // told by its output's size
    bool transposed = false;
};
constexpr WindowOperator kOperators[] = {
    {"max_pool1d", 1, WindowKind::largest},
    {"max_pool2d", 2, WindowKind::largest},
    {"max_pool3d", 3, WindowKind::largest},
    {"avg_pool1d", 1, WindowKind::average},
    {"avg_pool2d", 2, WindowKind::average},
    {"avg_pool3d", 3, WindowKind::average},
    {"adaptive_avg_pool1d", 1, WindowKind::average, true},
    {"adaptive_avg_pool2d", 2, WindowKind::average, true},
    {"adaptive_avg_pool3d", 3, WindowKind::average, true},
    {"_adaptive_avg_pool2d", 2, WindowKind::average, true},
    {"_adaptive_avg_pool3d", 3, WindowKind::average, true},
    {"conv1d", 1, WindowKind::convolution},
    {"conv2d", 2, WindowKind::convolution},
    {"conv3d", 3, WindowKind::convolution},
    {"convolution", 0, WindowKind::convolution},
    {"conv_transpose1d", 1, WindowKind::convolution, false, true},
    {"conv_transpose2d", 2, WindowKind::convolution, false, true},
    {"conv_transpose3d", 3, WindowKind::convolution, false, true},
};

const WindowOperator* find_windows(const Node& node) {
    const std::string_view name = aten_name(node.target);
    const auto found = std::ranges::find(kOperators, name, &WindowOperator::name);
    return found == std::end(kOperators) ? nullptr : found;
}

// One number for each windowed dimension.
std::vector<std::int64_t> per_dim(const Node& node, std::string_view name, std::size_t rank,
                                  std::vector<std::int64_t> otherwise) {
    auto list = ints_argument(node, name);
    if (list.size() == 1) list.assign(rank, list.front());
    return list.size() == rank ? list : otherwise;
}

class WindowReader {
  public:
    WindowReader(const Graph& graph, const Node& node, const WindowOperator& op)
        : graph_(graph), node_(node), op_(op), rank_(op.rank) {}

    Result<Windows> read() {
        windows_.kind = *window_kind(node_);
        const bool convolves = op_.kind == WindowKind::convolution;
        const auto source = tensor_argument(node_, convolves ? "input" : "self");
        if (!source || !graph_[*source].type || !graph_[node_.outputs.front()].type)
            return Error{"its input is not a tensor", ""};
        windows_.source = *source;
        windows_.transposed = op_.transposed || flag_argument(node_, "transposed", false);
        if (std::string reason = convolves ? find_weight() : ""; !reason.empty())
            return Error{reason, ""};
        const auto &in = graph_[*source].type->sizes,
                   &out = graph_[node_.outputs.front()].type->sizes;
        if (in.size() <= rank_ || out.size() != in.size())
            return Error{"its input has an unusual rank", ""};
        if (std::string reason = convolves ? check_channels() : ""; !reason.empty())
            return Error{reason, ""};
        for (std::size_t i = 0; i < rank_; ++i) {
            WindowDim dim;
            dim.dim = in.size() - rank_ + i;
            dim.places = out[dim.dim];
            windows_.dims.push_back(dim);
        }
        if (std::string reason = op_.adaptive ? read_adaptive(in) : read_rules(in); !reason.empty())
            return Error{reason, ""};
        if (op_.kind == WindowKind::average)
            if (std::string reason = read_divisor(in); !reason.empty()) return Error{reason, ""};
        return windows_;
    }

  private:
    std::string find_weight() {
        windows_.weight = tensor_argument(node_, "weight");
        windows_.bias = tensor_argument(node_, "bias");
        const auto* type = windows_.weight && graph_[*windows_.weight].type
                               ? &*graph_[*windows_.weight].type
                               : nullptr;
        if (type && rank_ == 0 && type->sizes.size() > 2) rank_ = type->sizes.size() - 2;
        const bool fits = type && rank_ > 0 && type->sizes.size() == rank_ + 2;
        return fits ? "" : "its weight is not a tensor";
    }

    std::string check_channels() const {
        const auto& weight = graph_[*windows_.weight].type->sizes;
        const auto& in = graph_[windows_.source].type->sizes;
        const std::int64_t channels = in[in.size() - rank_ - 1];
        const bool depthwise = windows_.kind == WindowKind::depthwise;
        if (windows_.transposed)
            return depthwise || weight[0] != channels
                       ? "transposed convolutions of groups of channels are left to torch"
                       : "";
        if (weight[1] != (depthwise ? 1 : channels) || (depthwise && weight[0] != channels))
            return "convolutions of groups of channels are left to torch";
        return "";
    }

    std::string read_adaptive(const std::vector<std::int64_t>& in) {
        for (WindowDim& dim : windows_.dims) {
            if (dim.places < 1 || in[dim.dim] % dim.places != 0)
                return "its windows have different lengths";
            dim.taps = dim.stride = in[dim.dim] / dim.places;
        }
        return "";
    }

    std::string read_rules(const std::vector<std::int64_t>& in) {
        const std::size_t rank = rank_;
        const std::vector<std::int64_t> ones(rank, 1), zeros(rank, 0);
        auto taps = per_dim(node_, "kernel_size", rank, {});
        if (windows_.weight) {
            const auto& sizes = graph_[*windows_.weight].type->sizes;
            taps.assign(sizes.begin() + 2, sizes.end());
        }
        if (taps.size() != rank) return "its windows have no length";
        const auto stride = per_dim(node_, "stride", rank, windows_.weight ? ones : taps);
        const auto dilation = per_dim(node_, "dilation", rank, ones);
        const auto padding = per_dim(node_, "padding", rank, zeros);
        const auto* words = find_argument(node_, "padding");
        const auto* word = words ? std::get_if<std::string>(words) : nullptr;
        for (std::size_t i = 0; i < rank; ++i) {
            WindowDim& dim = windows_.dims[i];
            dim.taps = taps[i], dim.stride = stride[i];
            dim.dilation = dim.taps == 1 ? 1 : dilation[i];
            const std::int64_t reach = dim.dilation * (dim.taps - 1);
            dim.before = word && *word == "same" ? reach / 2 : padding[i];
            dim.after = word && *word == "same" ? reach - reach / 2 : padding[i];
            if (dim.taps < 1 || dim.stride < 1 || dim.dilation < 1 || dim.places < 1)
                return "it has no windows";
            if (windows_.transposed) {
                if (std::string reason = unsupported_transposed(dim); !reason.empty())
                    return reason;
                continue;
            }
            // Rounding up, the last window may go further outside than the padding.
            const std::int64_t last = (dim.places - 1) * dim.stride + reach + 1;
            dim.after = std::max(dim.after, last - in[dim.dim] - dim.before);
        }
        return "";
    }

    static std::string unsupported_transposed(const WindowDim& dim) {
        if (dim.before > dim.dilation * (dim.taps - 1))
            return "its padding is longer than its weights reach";
        if (dim.taps == 1 && dim.stride > 1) return "its weights leave results without a term";
        return "";
    }

    std::string read_divisor(const std::vector<std::int64_t>& in) {
        bool outside = false, further = false;
        const auto padding = per_dim(node_, "padding", rank_, std::vector<std::int64_t>(rank_, 0));
        for (std::size_t i = 0; i < windows_.dims.size(); ++i) {
            const WindowDim& dim = windows_.dims[i];
            windows_.divisor *= static_cast<double>(dim.taps);
            outside |= dim.before > 0 ||
                       (dim.places - 1) * dim.stride + dim.taps > in[dim.dim] + dim.before;
            further |= !op_.adaptive && dim.after > padding[i];
        }
        if (const auto given = number_argument(node_, "divisor_override")) {
            if (*given == 0) return "it divides by zero";
            windows_.divisor = *given;
            return "";
        }
        const bool counts_all = flag_argument(node_, "count_include_pad", true);
        if (further || (outside && !counts_all))
            return "it divides by the elements inside, which differ from place to place";
        return "";
    }

    const Graph& graph_;
    const Node& node_;
    const WindowOperator& op_;
    std::size_t rank_;
    Windows windows_;
};

}  // namespace

std::optional<WindowKind> window_kind(const Node& node) {
    const WindowOperator* op = find_windows(node);
    if (!op || node.outputs.size() != 1) return std::nullopt;
    const bool grouped = int_argument(node, "groups").value_or(1) > 1;
    return op->kind == WindowKind::convolution && grouped ? WindowKind::depthwise : op->kind;
}

Result<Windows> read_windows(const Graph& graph, const Node& node) {
    if (!window_kind(node)) return Error{"it does not work on windows", ""};
    return WindowReader(graph, node, *find_windows(node)).read();
}

}  // namespace fact::graph

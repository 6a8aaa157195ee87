#include "lower/rows/rows_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/dims.h"
#include "ir/needed.h"
#include "ir/opaque_dims.h"
#include "ir/reorderings.h"
#include "ir/typing.h"
#include "lower/rows/flips.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using Dims = std::vector<ir::DimId>;

bool same_set(const Dims& a, const Dims& b) {
    return a.size() == b.size() && contains(b, a);
}

Dims without(const Dims& all, const Dims& some) {
    Dims left;
    for (const ir::DimId dim : all)
        if (!contains(some, dim)) left.push_back(dim);
    return left;
}

// A name for nodes that no row kernel can compute; "" for all others.
std::string_view unsupported_node(const ir::Node& node) {
    return std::visit(
        overloaded{
            [](const ir::Product&) { return "a product"; },
            [](const one_of<ir::Attention, ir::LogSumExp> auto&) { return "attention"; },
            [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Unary, ir::Binary,
                            ir::Select, ir::Cast, ir::Permute, ir::Expand, ir::View, ir::Flip,
                            ir::Window, ir::Reduce, ir::Scan> auto&) { return ""; },
        },
        node);
}

// Whether the node reads at other coordinates than its own, so that its operands are not computed.
bool is_window(const ir::Kernel& kernel, ir::ExprId id) {
    return std::holds_alternative<ir::Window>(kernel[id].node);
}

// Whether the dimension's extent is that of a tensor's dimension, or constant.
bool is_whole_dim(const ir::Kernel& kernel, ir::DimId dim) {
    return kernel[dim].extent || std::ranges::any_of(kernel.params, [&](const ir::Tensor& param) {
               return contains(param.type.dims, dim);
           });
}

// Follows what is computed from a running sum: it exists only element by element, in the order in
// which the sum runs.
class AfterScan {
  public:
    explicit AfterScan(const ir::Kernel& kernel) : kernel_(kernel) {}

    // Expressions must come operands first. Returns what a row kernel cannot compute, or "".
    std::string add(ir::ExprId id) {
        const ir::Node& node = kernel_[id].node;
        const auto* scan = std::get_if<ir::Scan>(&node);
        if (scan && scan_) return "two running sums";
        if (scan) {
            scan_ = scan;
            flips_[id] = {};
            return "";
        }
        std::string why;
        ir::for_each_operand(node, [&](ir::ExprId x) {
            const auto flips = flips_.find(x);
            if (flips == flips_.end()) return;
            if (std::holds_alternative<ir::Reduce>(node)) why = "a reduction of a running sum";
            const auto [known, is_new] = flips_.try_emplace(id, flips->second);
            if (!is_new && known->second != flips->second) why = kBothWays;
        });
        // A flip turns the running sum around (flips_at_leaves), if it goes along one dimension.
        const auto* flip = std::get_if<ir::Flip>(&node);
        if (!flip || !flips_.contains(id)) return why;
        if (kernel_.factors(scan_->over).size() > 1)
            return "a flip of a running sum along several dimensions";
        Flips& flips = flips_[id];
        if (!flips.erase(flip->dim)) flips.insert(flip->dim);
        return why;
    }

    // The same for the outputs, after all expressions.
    std::string add_output(ir::ExprId id) {
        const auto flips = flips_.find(id);
        if (flips == flips_.end()) return "";
        if (!of_outputs_) of_outputs_ = flips->second;
        return of_outputs_ == flips->second ? "" : kBothWays;
    }

  private:
    static constexpr const char* kBothWays = "a running sum and its flip";

    const ir::Kernel& kernel_;
    const ir::Scan* scan_ = nullptr;
    std::map<ir::ExprId, Flips> flips_;  // along which a value reads the running sum backwards
    std::optional<Flips> of_outputs_;
};

}  // namespace

bool RowsForm::has_windows(const ir::Kernel& kernel) const {
    return std::ranges::any_of(order, [&](ir::ExprId id) { return is_window(kernel, id); });
}

std::optional<std::uint32_t> windowed_param(const ir::Kernel& kernel, ir::ExprId id) {
    const auto* window = std::get_if<ir::Window>(&kernel[id].node);
    if (!window) return std::nullopt;
    const ir::ExprId behind = ir::behind_reorderings(kernel, window->x);
    const auto* param = std::get_if<ir::Param>(&kernel[behind].node);
    return param ? std::optional(param->index) : std::nullopt;
}

Result<RowsForm> rows_form(const ir::Kernel& kernel) {
    const auto cannot = [&](std::string what) {
        return Error{fmt::format("kernel {}: one row kernel cannot compute {}", kernel.name, what),
                     "Split the kernel, or leave this part to torch."};
    };
    RowsForm form;
    std::vector<ir::ExprId> results;
    for (const ir::Output& output : kernel.outputs) results.push_back(output.value);
    const auto live =
        ir::needed_for(kernel, results, [&](ir::ExprId id) { return is_window(kernel, id); });
    bool flips = false, windows = false;
    AfterScan after_scan(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        if (!live[i]) continue;
        const ir::Expr& expr = kernel.exprs[i];
        const auto id = static_cast<ir::ExprId>(i);
        form.order.push_back(id);
        flips |= std::holds_alternative<ir::Flip>(expr.node);
        windows |= is_window(kernel, id);
        if (flips && windows) return cannot("flips and windows");
        if (is_window(kernel, id) && !windowed_param(kernel, id))
            return cannot("a window of what it computes");
        if (const auto* window = std::get_if<ir::Window>(&expr.node))
            for (const ir::DimId places : window->places)
                if (!is_whole_dim(kernel, kernel[places].window->of))
                    return cannot("windows over a part of a tensor's dimension");
        if (ir::repeats_factors(kernel, expr.type.dims))
            return cannot(fmt::format("a value {} in which a factor of the dimensions occurs twice",
                                      ir::to_string(kernel, expr.type.dims)));
        if (const std::string_view why = unsupported_node(expr.node); !why.empty())
            return cannot(std::string(why));
        if (const std::string why = after_scan.add(id); !why.empty()) return cannot(why);
        const auto* reduce = std::get_if<ir::Reduce>(&expr.node);
        const auto* scan = std::get_if<ir::Scan>(&expr.node);
        if (!reduce && !scan) continue;
        const Dims over = kernel.factors(reduce ? reduce->over : scan->over);
        if (!form.over.empty() && !same_set(form.over, over))
            return cannot(fmt::format("reductions over {} and over {}",
                                      ir::to_string(kernel, form.over),
                                      ir::to_string(kernel, over)));
        if (scan) form.scan = id;
        if (scan || form.over.empty()) form.over = over;
    }
    for (const ir::Output& output : kernel.outputs) {
        if (const std::string why = after_scan.add_output(output.value); !why.empty())
            return cannot(why);
        const Dims rows = without(kernel.factors(output.tensor.type.dims), form.over);
        if (&output == &kernel.outputs.front())
            form.rows = rows;
        else if (!same_set(form.rows, rows))
            return cannot("outputs of several shapes");
    }
    // Every value may depend only on the row and the position in it.
    for (const ir::ExprId id : form.order)
        for (const ir::DimId dim : kernel.factors(kernel[id].type.dims))
            if (!contains(form.rows, dim) && !contains(form.over, dim))
                return cannot(fmt::format("a value with dimension {}", kernel[dim].name));
    // Holds in every well-formed kernel: an operand has all dimensions that it is reduced over.
    for (const ir::ExprId id : form.order)
        if (const auto* reduce = std::get_if<ir::Reduce>(&kernel[id].node))
            if (!same_set(kernel.factors(kernel[id].type.dims), form.rows) &&
                kernel.factors(kernel[reduce->x].type.dims).size() < form.over.size())
                return cannot("a reduction of a value that lacks a reduced dimension");
    return form;
}

}  // namespace fact::lower

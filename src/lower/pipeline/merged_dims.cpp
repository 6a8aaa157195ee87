#include "lower/pipeline/merged_dims.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/dims.h"
#include "ir/needed.h"
#include "ir/opaque_dims.h"
#include "ir/reorderings.h"
#include "lower/product/scattered_output.h"
#include "lower/product/window_operand.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;
using ir::index;

class DimMerger {
  public:
    DimMerger(const Extracted& stage, ExprId product)
        : stage_(stage), from_(stage.kernel), dims_(from_[product].type.dims) {
        to_.kernel.name = from_.name;
        to_.kernel.dims = from_.dims;
        to_.kernel.source = from_.source;
    }

    // nullopt if the stage has something that the product's dimensions cannot say.
    std::optional<Extracted> run() {
        const auto is_product = [&](ExprId id) {
            return std::holds_alternative<ir::Product>(from_[id].node);
        };
        std::vector<ExprId> roots;
        for (const ir::Output& output : from_.outputs) roots.push_back(output.value);
        const auto needed = ir::needed_for(from_, roots, is_product);
        rewritten_.resize(from_.exprs.size());
        for (std::size_t i = 0; i < needed.size(); ++i) {
            if (!needed[i]) continue;
            const auto added = rewrite(static_cast<ExprId>(i));
            if (!added) return std::nullopt;
            rewritten_[i] = *added;
            ir::Expr& expr = to_.kernel.exprs[index(*added)];
            if (!expr.name.empty()) continue;
            expr.name = from_.exprs[i].name;
            expr.span = from_.exprs[i].span;
        }
        for (const ir::Output& output : from_.outputs)
            if (!add_output(output)) return std::nullopt;
        add_witnesses();
        // What no tensor of this stage has is a plain dimension here.
        ir::make_opaque(to_.kernel);
        return std::move(to_);
    }

  private:
    ExprId at(ExprId id) const { return rewritten_[index(id)]; }
    const std::vector<DimId>& dims_at(ExprId added) const { return to_.kernel[added].type.dims; }

    bool add_output(const ir::Output& output) {
        const auto merged = merged_dims(from_, output.tensor.type.dims, dims_);
        if (!merged || merged->dims.size() != dims_.size()) return add_scattered(output);
        ir::Output added = output;
        added.value = build_.permute(build_.expand(at(output.value), dims_), merged->dims);
        added.tensor.type.dims = merged->dims;
        to_.kernel.outputs.push_back(std::move(added));
        to_.merged.push_back(merged->runs);
        return true;
    }

    // An output whose dimensions mix those of the product keeps them.
    bool add_scattered(const ir::Output& output) {
        const auto scattered = scattered_output(from_);
        if (!scattered) return false;
        ir::Output added = output;
        added.value = reordered_by(from_, scattered->steps, build_,
                                   build_.expand(at(scattered->value), dims_));
        to_.merged.emplace_back(output.tensor.type.dims.size(), 1);
        to_.kernel.outputs.push_back(std::move(added));
        return true;
    }

    // If extents of dimensions are needed that tensors have only merged with others, these tensors
    // become parameters a second time, under their own dimensions; then the stage's witnesses do.
    void add_witnesses() {
        const auto first_output = to_.merged.begin() + std::ssize(to_.kernel.params);
        const std::vector<std::vector<int>> of_outputs(first_output, to_.merged.end());
        to_.merged.erase(first_output, to_.merged.end());
        for (std::size_t i = 0; i < from_.params.size() && !supplies_extents(to_.kernel); ++i) {
            const auto& dims = from_.params[i].type.dims;
            if (numbers_.contains({static_cast<std::uint32_t>(i), dims})) continue;
            add_param(static_cast<std::uint32_t>(i), {dims, std::vector<int>(dims.size(), 1)});
        }
        to_.merged.insert(to_.merged.end(), of_outputs.begin(), of_outputs.end());
    }

    // The value over those of the product's dimensions that it has, in their order.
    std::optional<ExprId> rewrite(ExprId id) {
        using Added = std::optional<ExprId>;
        const ir::Expr& expr = from_[id];
        return std::visit(
            overloaded{
                [&](const ir::Param& n) { return matrix(n.index, dims_); },
                [&](const ir::Literal& n) -> Added {
                    return build_.literal(n.value, expr.type.dtype);
                },
                [&](const ir::Index& n) {
                    return ir::contains(dims_, n.dim) ? Added(build_.index(n.dim)) : std::nullopt;
                },
                [&](const ir::Unary& n) -> Added { return build_.unary(n.op, at(n.x)); },
                [&](const ir::Binary& n) -> Added {
                    return build_.binary(n.op, over_both(at(n.a), at(n.b)), at(n.b));
                },
                [&](const ir::Select& n) -> Added {
                    const ExprId a = over_both(at(n.a), at(n.b));
                    return build_.select(over_both(at(n.condition), a), a, at(n.b));
                },
                [&](const ir::Cast& n) -> Added { return build_.cast(expr.type.dtype, at(n.x)); },
                [&](const one_of<ir::Permute, ir::View, ir::Expand> auto& n) -> Added {
                    return at(n.x);
                },
                [&](const ir::Product& n) { return product(n, expr.type.dims); },
                [&](const one_of<ir::Window, ir::Reduce> auto& n) {
                    return is_cut_off(from_, id) ? Added(at(n.x)) : std::nullopt;
                },
                [](const one_of<ir::Extent, ir::Flip, ir::Scan, ir::Attention, ir::LogSumExp> auto&)
                    -> Added { return std::nullopt; },
            },
            expr.node);
    }

    // `a` over the dimensions of `b` too: a pointwise operator has those of its first operand.
    ExprId over_both(ExprId a, ExprId b) {
        std::vector<DimId> all;
        for (const DimId dim : dims_)
            if (ir::contains(dims_at(a), dim) || ir::contains(dims_at(b), dim)) all.push_back(dim);
        return build_.expand(a, all);
    }

    std::optional<ExprId> product(const ir::Product& n, const std::vector<DimId>& dims) {
        if (dims != dims_) return std::nullopt;
        const auto a = operand(n.a, Side::first), b = operand(n.b, Side::second);
        if (!a || !b) return std::nullopt;
        return build_.product(*a, *b, n.precision);
    }

    // An operand keeps its dimensions and their order.
    std::optional<ExprId> operand(ExprId id, Side side) {
        if (const auto windows = window_operand(from_, id, side)) return windows_of(*windows, id);
        const auto* param = std::get_if<ir::Param>(&from_[ir::behind_reorderings(from_, id)].node);
        if (!param) return std::nullopt;
        const auto& dims = from_[id].type.dims;
        const auto read = matrix(param->index, dims);
        return read && dims_at(*read) == dims ? read : std::nullopt;
    }

    std::optional<ExprId> windows_of(const WindowOperand& windows, ExprId id) {
        const auto* param = std::get_if<ir::Param>(&from_[windows.images].node);
        if (!param) return std::nullopt;
        const auto images = matrix(param->index, from_[windows.images].type.dims);
        if (!images) return std::nullopt;
        const ExprId behind = ir::behind_reorderings(from_, id);
        const auto& places = std::get<ir::Window>(from_[behind].node).places;
        const auto& order = from_[std::get<ir::View>(from_[id].node).x].type.dims;
        return build_.view(build_.permute(build_.window(*images, places), order),
                           from_[id].type.dims);
    }

    // A parameter of the stage under those of the names in `wanted` that it has, in their order.
    std::optional<ExprId> matrix(std::uint32_t number, const std::vector<DimId>& wanted) {
        const ir::Tensor& tensor = from_.params[number];
        const auto merged = merged_dims(from_, tensor.type.dims, wanted);
        if (!merged || number >= stage_.leaves.size()) return std::nullopt;
        const auto [known, added] =
            numbers_.try_emplace({number, merged->dims}, to_.kernel.params.size());
        if (added) add_param(number, *merged);
        std::vector<DimId> order;
        for (const DimId dim : wanted)
            if (ir::contains(merged->dims, dim)) order.push_back(dim);
        return build_.permute(build_.param(static_cast<std::uint32_t>(known->second)), order);
    }

    void add_param(std::uint32_t number, const MergedDims& merged) {
        ir::Tensor tensor = from_.params[number];
        tensor.type.dims = merged.dims;
        for (const ir::Tensor& other : to_.kernel.params)  // read under other names too
            if (other.name == tensor.name) tensor.name += "_again";
        to_.merged.push_back(merged.runs);  // outputs are added last
        to_.kernel.params.push_back(std::move(tensor));
        const std::size_t leaves = stage_.leaves.size();
        if (number < leaves)
            to_.leaves.push_back(stage_.leaves[number]);
        else
            to_.witnesses.push_back(stage_.witnesses[number - leaves]);
    }

    const Extracted& stage_;
    const ir::Kernel& from_;
    const std::vector<DimId> dims_;  // the product's
    Extracted to_;
    ir::Builder build_{to_.kernel};
    std::vector<ExprId> rewritten_;  // by expression of from_
    // By parameter of from_ and its dimensions here, the parameter of to_.
    std::map<std::pair<std::uint32_t, std::vector<DimId>>, std::size_t> numbers_;
};

}  // namespace

std::optional<MergedDims> merged_dims(const ir::Kernel& kernel, const std::vector<DimId>& tensor,
                                      const std::vector<DimId>& wanted) {
    MergedDims merged;
    for (std::size_t first = 0; first < tensor.size();) {
        int run = 0;
        for (const DimId dim : wanted) {
            if (ir::contains(merged.dims, dim)) continue;  // another run of the tensor is it
            const auto factors = kernel.factors({dim});
            std::vector<DimId> held;
            for (std::size_t i = first; i < tensor.size() && held.size() < factors.size(); ++i) {
                const auto more = kernel.factors({tensor[i]});
                held.insert(held.end(), more.begin(), more.end());
                if (held != factors) continue;
                run = static_cast<int>(i - first) + 1;
                merged.dims.push_back(dim);
                break;
            }
            if (run > 0) break;
        }
        if (run == 0) return std::nullopt;
        merged.runs.push_back(run);
        first += static_cast<std::size_t>(run);
    }
    return merged;
}

bool is_merging(const ir::Kernel& kernel, ExprId id) {
    const auto* view = std::get_if<ir::View>(&kernel[id].node);
    if (!view) return false;
    const auto merged = merged_dims(kernel, kernel[view->x].type.dims, kernel[id].type.dims);
    return merged && merged->dims == kernel[id].type.dims;
}

void merge_dims(Extracted& stage) {
    const ir::Kernel& kernel = stage.kernel;
    const auto is_product = [](const ir::Expr& expr) {
        return std::holds_alternative<ir::Product>(expr.node);
    };
    const auto is_view = [](const ir::Expr& expr) {
        return std::holds_alternative<ir::View>(expr.node);
    };
    const auto product = std::ranges::find_if(kernel.exprs, is_product);
    if (product == kernel.exprs.end() || std::ranges::none_of(kernel.exprs, is_view)) return;
    const auto first = static_cast<ExprId>(product - kernel.exprs.begin());
    if (auto merged = DimMerger(stage, first).run()) stage = std::move(*merged);
}

}  // namespace fact::lower

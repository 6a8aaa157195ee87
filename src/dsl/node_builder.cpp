#include "dsl/node_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/extents.h"
#include "ir/typing.h"
#include "support/result.h"

namespace fact::dsl {
namespace {

code::Code code_of(ir::Fault fault) {
    switch (fault) {
        case ir::Fault::reference:
            break;
        case ir::Fault::literal:
            return code::number_range;
        case ir::Fault::cast:
            return code::f64_type;
        case ir::Fault::broadcast:
            return code::broadcast;
        case ir::Fault::needs_bool:
            return code::needs_bool;
        case ir::Fault::permutation:
            return code::permutation;
        case ir::Fault::expand:
            return code::expand;
        case ir::Fault::product_rank:
            return code::product_rank;
        case ir::Fault::contraction:
            return code::contraction;
        case ir::Fault::product_dims:
            return code::product_dims;
        case ir::Fault::product_batch:
            return code::product_batch;
        case ir::Fault::product_types:
            return code::product_types;
        case ir::Fault::precision:
            return code::precision;
        case ir::Fault::view:
            return code::view;
        case ir::Fault::repeated_dim:
            return code::repeated_dim;
        case ir::Fault::flip:
            return code::flip;
        case ir::Fault::window:
            return code::window;
        case ir::Fault::reduction:
            return code::reduction;
        case ir::Fault::attention:
            return code::attention;
    }
    throw InternalError("the checker referred to something that does not exist");
}

}  // namespace

Value NodeBuilder::add(ir::Node node, Span span, const ir::Type& wanted) {
    if (!spend(span)) return {};
    drop_ones(node, span);
    auto typing = ir::type_of(kernel_, node, wanted);
    if (const auto* error = std::get_if<ir::TypeError>(&typing)) {
        reporter_.error(code_of(error->fault), span, error->message, error->fix);
        return {};
    }
    auto& type = std::get<ir::Type>(typing);
    if (!check_dims(type.dims, span)) return {};
    const auto* extent = std::get_if<ir::Extent>(&node);
    if (extent && !check_dims({extent->dim}, span)) return {};
    return kernel_.add({std::move(node), std::move(type), {}, span});
}

// If operands do not broadcast, removes the dimension of extent 1, which is the one called "1",
// from those that have it.
void NodeBuilder::drop_ones(ir::Node& node, Span span) {
    if (!std::holds_alternative<ir::Binary>(node) && !std::holds_alternative<ir::Select>(node))
        return;
    std::vector<ir::ExprId> operands;
    ir::for_each_operand(node, [&](ir::ExprId x) { operands.push_back(x); });
    const auto unit = std::find_if(kernel_.dims.begin(), kernel_.dims.end(),
                                   [](const ir::Dim& dim) { return dim.extent == 1; });
    if (unit == kernel_.dims.end()) return;
    const auto dim = static_cast<ir::DimId>(unit - kernel_.dims.begin());
    const auto has = [&](ir::ExprId x) {
        const auto& dims = kernel_[x].type.dims;
        return std::find(dims.begin(), dims.end(), dim) != dims.end();
    };
    // One operand has all dimensions of the others: nothing to remove.
    for (const ir::ExprId x : operands) {
        const auto& dims = kernel_[x].type.dims;
        if (std::ranges::all_of(operands, [&](ir::ExprId other) {
                return ir::broadcast(dims, kernel_[other].type.dims) == dims;
            }))
            return;
    }
    ir::for_each_operand(node, [&](ir::ExprId& x) {
        if (!has(x)) return;
        const DType dtype = kernel_[x].type.dtype;
        // The largest of one element is that element.
        if (const Value only = add(ir::Reduce{ir::ReduceOp::max, x, {dim}}, span)) x = *only;
        if (dtype == DType::boolean)  // of which the reduction made a number
            if (const Value truth = cast(dtype, x, span)) x = *truth;
    });
}

bool NodeBuilder::spend(Span span) {
    if (budget_.expressions > 0) {
        --budget_.expressions;
        return true;
    }
    if (!budget_.exhausted)
        reporter_.error(code::too_many_expressions, span,
                        fmt::format("The text has more than {} expressions after inlining calls.",
                                    kMaxExpressions),
                        "Split it into several files.");
    budget_.exhausted = true;
    return false;
}

std::optional<ir::DimId> NodeBuilder::dim(const std::string& name, Span span) {
    return counted(kernel_.dim(name), span);
}

std::optional<ir::DimId> NodeBuilder::factored_dim(const std::vector<ir::DimId>& dims, Span span) {
    return counted(kernel_.factored_dim(dims), span);
}

std::optional<ir::DimId> NodeBuilder::counted(ir::DimId dim, Span span) {
    if (kernel_.dims.size() <= kMaxDims) return dim;
    kernel_.dims.resize(kMaxDims);
    if (!too_many_dims_)
        reporter_.error(code::too_many_dims, span,
                        fmt::format("There are more than {} dimensions.", kMaxDims),
                        "Split the kernel in two.");
    too_many_dims_ = true;
    return std::nullopt;
}

bool NodeBuilder::known(ir::DimId dim) {
    if (known_.size() != kernel_.dims.size()) {
        std::vector<bool> declared(kernel_.dims.size());
        for (const ir::Tensor& param : kernel_.params)
            for (const ir::DimId d : param.type.dims) declared[ir::index(d)] = true;
        known_ = ir::known_dims(kernel_, std::move(declared));
    }
    return known_[ir::index(dim)];
}

bool NodeBuilder::check_dims(const std::vector<ir::DimId>& dims, Span span) {
    for (const ir::DimId dim : dims)
        if (!known(dim)) {
            reporter_.error(code::unknown_extent, span,
                            fmt::format("No parameter determines the extent of dimension {}.",
                                        kernel_[dim].name),
                            "Give a parameter this dimension, or write the factor as a number.");
            return false;
        }
    if (dims.size() <= kMaxRank) return true;
    reporter_.error(code::rank, span, fmt::format("This has {} dimensions.", dims.size()),
                    fmt::format("A value has at most {} dimensions; merge some.", kMaxRank));
    return false;
}

Value NodeBuilder::cast(DType dtype, ir::ExprId x, Span span) {
    if (kernel_[x].type.dtype == dtype) return x;
    return add(ir::Cast{x}, span, {dtype, {}});
}

Value NodeBuilder::permute(ir::ExprId x, std::vector<ir::DimId> dims, Span span) {
    // A permutation of an unnamed permutation is merged into one.
    const auto* inner = std::get_if<ir::Permute>(&kernel_[x].node);
    if (inner && kernel_[x].name.empty() && !kernel_[x].stored) x = inner->x;
    if (kernel_[x].type.dims == dims) return x;
    return add(ir::Permute{x}, span, {DType::f32, std::move(dims)});
}

Value NodeBuilder::transpose(ir::ExprId x, Span span) {
    auto dims = kernel_[x].type.dims;
    if (dims.size() < 2) {
        reporter_.error(code::transpose_rank, span,
                        fmt::format("`.T` swaps the last two dimensions, but this has {}.",
                                    ir::to_string(kernel_, dims)),
                        "Remove `.T`.");
        return {};
    }
    std::swap(dims.end()[-1], dims.end()[-2]);
    return permute(x, std::move(dims), span);
}

Value NodeBuilder::expand(ir::ExprId x, std::vector<ir::DimId> dims, Span span) {
    if (kernel_[x].type.dims == dims) return x;
    return add(ir::Expand{x}, span, {DType::f32, std::move(dims)});
}

Value NodeBuilder::view(ir::ExprId x, std::vector<ir::DimId> dims, Span span) {
    if (kernel_[x].type.dims == dims) return x;
    // A new dimension of extent 1, as in `.view(M, 1)`, is an expansion.
    auto no_ones = dims;
    std::erase_if(no_ones, [&](ir::DimId dim) { return kernel_[dim].extent == 1; });
    if (no_ones != dims && kernel_.same_factors(no_ones, kernel_[x].type.dims)) {
        const auto inner = view(x, std::move(no_ones), span);
        return inner ? expand(*inner, std::move(dims), span) : inner;
    }
    return add(ir::View{x}, span, {DType::f32, std::move(dims)});
}

Value NodeBuilder::rename(ir::ExprId x, std::vector<ir::DimId> dims, Span span) {
    const std::vector<ir::DimId> from = kernel_[x].type.dims;
    if (from.size() != dims.size()) {
        reporter_.error(code::rename, span,
                        fmt::format("`.as` names {} dimensions, but this has {}.", dims.size(),
                                    ir::to_string(kernel_, from)),
                        "Name every dimension, including those that keep their names.");
        return {};
    }
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (!make_equal(from[i], dims[i])) {
            reporter_.error(code::rename, span,
                            fmt::format("{} cannot be another name for {}.", kernel_[dims[i]].name,
                                        kernel_[from[i]].name),
                            "Use a new name; for a product such as 8*D, use the name that `where` "
                            "gives it.");
            return {};
        }
    return view(x, std::move(dims), span);
}

bool NodeBuilder::define_places(ir::DimId places, const ir::WindowRule& rule, Span span) {
    ir::Dim& dim = kernel_.dims[ir::index(places)];
    const bool is_symbol = !dim.extent && dim.factors.empty();
    if (is_symbol && places != rule.of && (!dim.window || *dim.window == rule)) {
        dim.window = rule;
        known_.clear();
        return true;
    }
    reporter_.error(code::window, span,
                    fmt::format("Dimension {} cannot be the places of these windows.", dim.name),
                    is_symbol && places != rule.of ? "Other windows define it: choose another name."
                                                   : "Choose a new name for the places.");
    return false;
}

// Makes one of two dimensions an alias of the other; false if that is not possible.
bool NodeBuilder::make_equal(ir::DimId a, ir::DimId b) {
    const auto factors = [&](ir::DimId dim) { return kernel_.factors({dim}); };
    const auto is_free = [&](ir::DimId id) {
        return !kernel_[id].extent && kernel_[id].factors.empty() &&
               std::none_of(kernel_.dims.begin(), kernel_.dims.end(), [&](const ir::Dim& dim) {
                   return std::find(dim.factors.begin(), dim.factors.end(), id) !=
                          dim.factors.end();
               });
    };
    if (kernel_.same_factors({a}, {b})) return true;
    // A factored dimension has only one name, or its product would be ambiguous in texts.
    if (!is_free(b) || factors(a).size() > 1) std::swap(a, b);
    if (!is_free(b) || factors(a).size() > 1) return false;
    kernel_.dims[ir::index(b)].factors = factors(a);
    known_.clear();
    return true;
}

}  // namespace fact::dsl

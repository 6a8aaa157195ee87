#include "lower/pipeline/uses.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ir/dims.h"
#include "ir/reorderings.h"
#include "support/result.h"

namespace fact::lower {

namespace {

bool is_output(const ir::Kernel& kernel, ir::ExprId id) {
    return std::any_of(kernel.outputs.begin(), kernel.outputs.end(),
                       [&](const ir::Output& output) { return output.value == id; });
}

// The value that attention reads as an operand: the value behind reorderings, or, if that is an
// intermediate in which the features are only a factor of a dimension ([M, H*D]), its view in which
// they are a dimension.
ir::ExprId operand_of(const ir::Kernel& kernel, ir::ExprId id) {
    const ir::ExprId behind = ir::behind_reorderings(kernel, id);
    const ir::DimId features = kernel[id].type.dims.back();
    if (std::holds_alternative<ir::Param>(kernel[behind].node) ||
        contains(kernel[behind].type.dims, features))
        return behind;
    while (!kernel[id].stored) {
        if (const auto* permute = std::get_if<ir::Permute>(&kernel[id].node))
            id = permute->x;
        else if (ir::is_renaming(kernel, id))
            id = std::get<ir::View>(kernel[id].node).x;
        else
            break;
    }
    return id;
}

// The reordered value, if that is an f32 output and nothing else reads `id`; else `id`.
ir::ExprId log_sums_end(const ir::Kernel& kernel, ir::ExprId id) {
    ir::ExprId last = id;
    for (;;) {
        const auto users = users_of(kernel, last);
        if (users.size() != 1 || is_output(kernel, last) || kernel[last].stored) break;
        const ir::Node& user = kernel[users[0]].node;
        if (!std::holds_alternative<ir::Permute>(user) && !std::holds_alternative<ir::View>(user))
            break;
        if (ir::is_renaming(kernel, users[0])) break;
        last = users[0];
    }
    return is_one_output(kernel, last, DType::f32) ? last : id;
}

// Whether `id` permutes a parameter that is contiguous along neither rows nor columns of the scores
// and is shared by several batches: copying it once costs less than reading a whole memory sector
// for every score. `rank` is that of the scores.
bool needs_copy(const ir::Kernel& kernel, ir::ExprId id, ir::DimId m, ir::DimId n,
                std::size_t rank) {
    const auto* permute = std::get_if<ir::Permute>(&kernel[id].node);
    const auto* param = permute ? std::get_if<ir::Param>(&kernel[permute->x].node) : nullptr;
    if (!param) return false;
    const auto& dims = kernel.params[param->index].type.dims;
    return contains(dims, m) && contains(dims, n) && dims.back() != m && dims.back() != n &&
           dims.size() < rank;
}

// Whether the attention kernel computes the node per score; it reads other nodes from memory.
bool computed_per_score(const ir::Node& node) {
    return std::visit(
        overloaded{
            [](const one_of<ir::Literal, ir::Index, ir::Unary, ir::Binary, ir::Select, ir::Cast,
                            ir::Permute, ir::Expand, ir::Flip> auto&) { return true; },
            [](const one_of<ir::Param, ir::Extent, ir::View, ir::Window, ir::Reduce, ir::Scan,
                            ir::Product, ir::Attention, ir::LogSumExp> auto&) { return false; },
        },
        node);
}

}  // namespace

std::vector<ir::ExprId> users_of(const ir::Kernel& kernel, ir::ExprId id) {
    std::vector<ir::ExprId> users;
    const auto live = ir::reachable(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i)
        if (live[i] && !std::holds_alternative<ir::LogSumExp>(kernel.exprs[i].node))
            ir::for_each_operand(kernel.exprs[i].node, [&](ir::ExprId x) {
                if (x == id) users.push_back(static_cast<ir::ExprId>(i));
            });
    return users;
}

bool is_only_output(const ir::Kernel& kernel, ir::ExprId id) {
    return is_output(kernel, id) && users_of(kernel, id).empty() && !kernel[id].stored;
}

bool is_one_output(const ir::Kernel& kernel, ir::ExprId id, DType dtype) {
    std::vector<DType> stored;
    for (const ir::Output& output : kernel.outputs)
        if (output.value == id) stored.push_back(output.tensor.type.dtype);
    return is_only_output(kernel, id) && stored == std::vector{dtype};
}

AttentionEnd attention_end(const ir::Kernel& kernel, ir::ExprId attention) {
    const DType dtype = kernel[std::get<ir::Attention>(kernel[attention].node).q].type.dtype;
    const ir::DimId features = kernel[attention].type.dims.back();
    AttentionEnd end{attention};
    for (;;) {
        const auto users = users_of(kernel, end.last);
        if (users.size() != 1 || is_output(kernel, end.last) || kernel[end.last].stored) break;
        const ir::Expr& user = kernel[users[0]];
        const bool rounds = std::holds_alternative<ir::Cast>(user.node) && user.type.dtype == dtype;
        // The skeleton stores along the features.
        const bool reorders = (std::holds_alternative<ir::Permute>(user.node) ||
                               std::holds_alternative<ir::View>(user.node)) &&
                              user.type.dims.back() == features &&
                              !ir::is_renaming(kernel, users[0]);
        if (!rounds && !reorders) break;
        end = {users[0], end.narrow || rounds};
    }
    if (is_only_output(kernel, end.last))
        end.narrow = std::all_of(
            kernel.outputs.begin(), kernel.outputs.end(), [&](const ir::Output& output) {
                return output.value != end.last || output.tensor.type.dtype == dtype;
            });
    return end;
}

std::vector<ir::ExprId> log_sums_of(const ir::Kernel& kernel, ir::ExprId attention) {
    std::vector<ir::ExprId> ends;
    const auto live = ir::reachable(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i)
        if (const auto* sums = std::get_if<ir::LogSumExp>(&kernel.exprs[i].node);
            sums && live[i] && sums->attention == attention)
            ends.push_back(log_sums_end(kernel, static_cast<ir::ExprId>(i)));
    return ends;
}

std::vector<ir::ExprId> attention_reads(const ir::Kernel& kernel, const ir::Attention& node) {
    std::vector<ir::ExprId> reads;
    for (const ir::ExprId id : {node.q, node.k, node.v}) reads.push_back(operand_of(kernel, id));
    const auto& q_dims = kernel[node.q].type.dims;
    const ir::DimId m = q_dims.end()[-2], n = kernel[node.k].type.dims.end()[-2];
    std::set<ir::ExprId> seen;
    std::vector<ir::ExprId> open;
    if (node.bias) open.push_back(*node.bias);
    while (!open.empty()) {
        const ir::ExprId id = open.back();
        open.pop_back();
        if (!seen.insert(id).second) continue;
        const ir::Expr& expr = kernel[id];
        if (!computed_per_score(expr.node) || expr.stored ||
            needs_copy(kernel, id, m, n, q_dims.size()))
            reads.push_back(id);
        else
            // Inserted in reverse, so that the first operand is popped next.
            ir::for_each_operand(expr.node, [&, at = open.size()](ir::ExprId x) {
                open.insert(open.begin() + static_cast<std::ptrdiff_t>(at), x);
            });
    }
    return reads;
}

std::optional<ir::ExprId> row_value_for_epilogue(const ir::Kernel& kernel,
                                                 const std::vector<ir::ExprId>& stage) {
    std::set<ir::ExprId> reduced, multiplied;  // computed from a reduction, from a product
    // Read by a value of another shape, or by one that is computed from a product.
    std::set<ir::ExprId> read_elsewhere;
    for (const ir::ExprId id : stage) {
        const ir::Node& node = kernel[id].node;
        bool reduces = along_row(node).has_value();
        bool multiplies = std::holds_alternative<ir::Product>(node);
        ir::for_each_operand(node, [&](ir::ExprId x) {
            reduces = reduces || reduced.contains(x);
            multiplies = multiplies || multiplied.contains(x);
        });
        if (multiplies)
            multiplied.insert(id);
        else if (reduces)
            reduced.insert(id);
        ir::for_each_operand(node, [&](ir::ExprId x) {
            if (multiplies || kernel[id].type.dims != kernel[x].type.dims) read_elsewhere.insert(x);
        });
    }
    for (const ir::ExprId id : reduced)
        if (read_elsewhere.contains(id) && !std::holds_alternative<ir::Expand>(kernel[id].node))
            return id;
    return std::nullopt;
}

std::optional<ir::ExprId> along_row(const ir::Node& node) {
    if (const auto* reduce = std::get_if<ir::Reduce>(&node)) return reduce->x;
    if (const auto* scan = std::get_if<ir::Scan>(&node)) return scan->x;
    return std::nullopt;
}

bool has_product(const ir::Kernel& kernel) {
    return std::ranges::any_of(kernel.exprs, [](const ir::Expr& expr) {
        return std::holds_alternative<ir::Product>(expr.node) ||
               std::holds_alternative<ir::Attention>(expr.node);
    });
}

}  // namespace fact::lower

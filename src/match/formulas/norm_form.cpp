#include "match/formulas/norm_form.h"

#include <algorithm>
#include <map>

#include "ir/node_shape.h"

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;
using ir::UnaryOp;

namespace {

// Rounding and reordering left aside, equal expressions are one.
class NormReader {
  public:
    explicit NormReader(const ir::Kernel& kernel) : kernel_(kernel) {
        along_ = kernel.outputs.front().tensor.type.dims.back();
        for (std::size_t i = 0; i < kernel.exprs.size(); ++i) number(static_cast<ExprId>(i));
    }

    std::optional<NormForm> read() {
        ExprId normal = same(kernel_.outputs.front().value);
        if (const auto* sum = as<ir::Binary>(normal); sum && sum->op == BinaryOp::add) {
            const bool first = serves_rows(sum->a);
            if (first == serves_rows(sum->b)) return std::nullopt;
            form_.shift = first ? sum->a : sum->b;
            normal = first ? sum->b : sum->a;
        }
        std::optional<ExprId> row, scale;
        bool divides = false;
        for (const auto& [factor, inverse] : factors(normal)) {
            if (serves_rows(factor) && !inverse)
                form_.gains.push_back(factor);
            else if (kernel_[factor].type.dims.size() < kernel_[normal].type.dims.size() && !scale)
                scale = factor, divides = inverse;
            else if (!row && !inverse)
                row = factor;
            else
                return std::nullopt;
        }
        if (!row || !scale || !read_row(*row) || !read_scale(*scale, divides, *row))
            return std::nullopt;
        return form_;
    }

  private:
    struct Factor {
        ExprId expr;
        bool inverse;
    };

    ExprId same(ExprId id) const { return static_cast<ExprId>(same_[ir::index(id)]); }

    template <class Node>
    const Node* as(ExprId id) const {
        return std::get_if<Node>(&nodes_[ir::index(id)]);
    }

    bool floating(ExprId id) const { return info(kernel_[id].type.dtype).floating; }

    void number(ExprId id) {
        ir::Node node = kernel_[id].node;
        ir::for_each_operand(node, [&](ExprId& x) { x = same(x); });
        const auto* cast = std::get_if<ir::Cast>(&node);
        const auto* permute = std::get_if<ir::Permute>(&node);
        auto& alike = known_[ir::shape_of(kernel_[id].node, same_)];
        const auto equal = std::ranges::find_if(alike, [&](std::uint32_t other) {
            return nodes_[other] == node && kernel_.exprs[other].type == kernel_[id].type;
        });
        const auto* binary = std::get_if<ir::Binary>(&node);
        arithmetic_.push_back(binary ? arithmetic_[ir::index(binary->a)] &&
                                           arithmetic_[ir::index(binary->b)]
                                     : std::holds_alternative<ir::Param>(node) ||
                                           std::holds_alternative<ir::Literal>(node));
        if (cast && floating(cast->x) && floating(id))
            same_.push_back(ir::index(cast->x));
        else if (permute)
            same_.push_back(ir::index(permute->x));
        else
            same_.push_back(equal == alike.end() ? ir::index(id) : *equal);
        if (equal == alike.end()) alike.push_back(ir::index(id));
        nodes_.push_back(std::move(node));
    }

    // A number, or a vector for all rows, made of parameters by arithmetic alone.
    bool serves_rows(ExprId id) const {
        const auto& dims = kernel_[id].type.dims;
        return (dims.empty() || dims == std::vector{along_}) && arithmetic_[ir::index(id)];
    }

    // None where there are more than any norm has: squares of squares have no end of them.
    std::vector<Factor> factors(ExprId id) const {
        constexpr std::size_t kMost = 64;
        std::vector<Factor> found, open{{id, false}};
        while (!open.empty()) {
            const auto [next, inverse] = open.back();
            open.pop_back();
            const auto* binary = as<ir::Binary>(next);
            const bool divides = binary && binary->op == BinaryOp::div;
            if (!binary || (binary->op != BinaryOp::mul && !divides) || serves_rows(next) ||
                mean(next)) {
                found.push_back({next, inverse});
            } else {
                open.push_back({binary->b, inverse != divides});
                open.push_back({binary->a, inverse});
            }
            if (found.size() + open.size() > kMost) return {};
        }
        return found;
    }

    // What this is the mean of, along the rows.
    std::optional<ExprId> mean(ExprId id) const {
        const auto* ratio = as<ir::Binary>(id);
        if (!ratio || ratio->op != BinaryOp::div) return std::nullopt;
        const auto* sum = as<ir::Reduce>(ratio->a);
        const auto* count = as<ir::Extent>(ratio->b);
        if (!sum || !count || sum->op != ir::ReduceOp::sum || sum->over != std::vector{along_} ||
            count->dim != along_)
            return std::nullopt;
        return sum->x;
    }

    // A parameter of whole rows, or what is left of it without its mean.
    bool read_row(ExprId row) {
        if (const auto* centered = as<ir::Binary>(row);
            centered && centered->op == BinaryOp::sub && mean(centered->b) == centered->a) {
            form_.centered = true;
            row = centered->a;
        }
        const auto* param = as<ir::Param>(row);
        if (param) form_.x = param->index;
        return param != nullptr;
    }

    // One over the root of the rows' mean square and an epsilon.
    bool read_scale(ExprId scale, bool divides, ExprId row) {
        const auto* root = as<ir::Unary>(scale);
        if (root && root->op == UnaryOp::reciprocal) {
            divides = !divides;
            root = as<ir::Unary>(root->x);
        }
        if (!root || root->op != (divides ? UnaryOp::sqrt : UnaryOp::rsqrt)) return false;
        ExprId square = root->x;
        if (const auto* sum = as<ir::Binary>(square); sum && sum->op == BinaryOp::add) {
            const bool first = as<ir::Literal>(sum->a) != nullptr;
            const auto* eps = as<ir::Literal>(first ? sum->a : sum->b);
            if (!eps) return false;
            form_.eps = eps->value;
            square = first ? sum->b : sum->a;
        }
        const auto squared = mean(square);
        const auto* times = squared ? as<ir::Binary>(*squared) : nullptr;
        return times && times->op == BinaryOp::mul && times->a == row && times->b == row;
    }

    const ir::Kernel& kernel_;
    ir::DimId along_;
    std::vector<ir::Node> nodes_;      // with operands that stand for their equals
    std::vector<std::uint32_t> same_;  // the first expression that is the same
    std::vector<bool> arithmetic_;     // of parameters and numbers alone
    std::map<ir::NodeShape, std::vector<std::uint32_t>> known_;
    NormForm form_;
};

}  // namespace

std::optional<NormForm> read_norm_form(const ir::Kernel& kernel) {
    if (kernel.outputs.size() != 1 || kernel.outputs.front().tensor.type.dims.empty())
        return std::nullopt;
    return NormReader(kernel).read();
}

}  // namespace fact::match

#include "lower/product/row_statistics.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/needed.h"
#include "lower/pointwise/expression.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::ExprId;

bool is_pointwise(const ir::Node& node) {
    return std::holds_alternative<ir::Param>(node) || std::holds_alternative<ir::Literal>(node) ||
           std::holds_alternative<ir::Extent>(node) || std::holds_alternative<ir::Unary>(node) ||
           std::holds_alternative<ir::Binary>(node) || std::holds_alternative<ir::Cast>(node) ||
           std::holds_alternative<ir::Select>(node);
}

// The expressions that the roots need, including the roots but not `available`, operands first.
std::vector<ExprId> computed_for(const ir::Kernel& kernel, const std::vector<ExprId>& roots,
                                 const std::vector<ExprId>& available) {
    const auto is_available = [&](ExprId id) {
        return std::ranges::find(available, id) != available.end();
    };
    const auto needed = ir::needed_for(kernel, roots, is_available);
    std::vector<ExprId> all;
    for (std::size_t i = 0; i < needed.size(); ++i)
        if (const auto id = static_cast<ExprId>(i); needed[i] && !is_available(id))
            all.push_back(id);
    return all;
}

// The expression that reads the rows, the kernel's only parameter.
ExprId rows_of(const ir::Kernel& kernel) {
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i)
        if (std::holds_alternative<ir::Param>(kernel.exprs[i].node)) return static_cast<ExprId>(i);
    throw InternalError("statistics that read no rows");
}

// What a sum adds up.
ExprId summed(const ir::Kernel& kernel, ExprId sum) {
    return std::get<ir::Reduce>(kernel[sum].node).x;
}

// Whether `id` is (x - mean) * (x - mean) with mean = sum / extent.
bool is_squared_distance(const ir::Kernel& kernel, ExprId id, ExprId sum) {
    const auto binary = [&](ExprId of, ir::BinaryOp op) {
        const auto* node = std::get_if<ir::Binary>(&kernel[of].node);
        return node && node->op == op ? node : nullptr;
    };
    const auto* square = binary(id, ir::BinaryOp::mul);
    const auto* distance =
        square && square->a == square->b ? binary(square->a, ir::BinaryOp::sub) : nullptr;
    const auto* mean = distance ? binary(distance->b, ir::BinaryOp::div) : nullptr;
    const ExprId x = rows_of(kernel);
    return mean && distance->a == x && mean->a == sum && summed(kernel, sum) == x &&
           std::holds_alternative<ir::Extent>(kernel[mean->b].node);
}

// Pointwise values inside one function of the emitted struct.
class FunctionText {
  public:
    FunctionText(emit::CodeWriter& writer, const ir::Kernel& kernel)
        : writer_(writer), kernel_(kernel), text_(kernel, nowhere, nowhere) {
        for (const ir::Dim& dim : kernel.dims) text_.reserve(dim.name);
        for (const char* word : {"F", "x", "values", "row", "sum", "squares", "count"})
            text_.reserve(word);
    }

    void set(ExprId id, std::string name) {
        text_.set(id, std::move(name));
        available_.push_back(id);
    }
    // Declares the values that the root needs and that are not available yet; returns the root's
    // text.
    std::string compute(ExprId root) {
        for (const ExprId id : computed_for(kernel_, {root}, available_)) {
            if (id == root) return text_.value(root);
            if (std::holds_alternative<ir::Extent>(kernel_[id].node))
                text_.set(id, "count");
            else
                text_.declare(writer_, id);
            available_.push_back(id);
        }
        return text_.use(root);
    }
    // The same, but also declares the root and returns its name.
    std::string declare(ExprId root) {
        const std::string value = compute(root);
        if (!text_.has(root)) {
            text_.declare(writer_, root, value);
            available_.push_back(root);
        }
        return text_.use(root);
    }

  private:
    static std::string nowhere(ir::DimId) {
        throw InternalError("statistics do not depend on where a row is");
    }

    emit::CodeWriter& writer_;
    const ir::Kernel& kernel_;
    ExpressionText text_;
    std::vector<ExprId> available_;
};

}  // namespace

std::optional<RowStatistics> row_statistics(const ir::Kernel& rows, std::vector<int> params) {
    if (rows.params.size() != 1 || rows.params.front().type.dims.size() < 2) return std::nullopt;
    const auto& dims = rows.params.front().type.dims;
    const std::vector<ir::DimId> row_dims(dims.begin(), dims.end() - 1);
    std::vector<ExprId> sums, results;
    for (std::size_t i = 0; i < rows.exprs.size(); ++i) {
        const auto* reduce = std::get_if<ir::Reduce>(&rows.exprs[i].node);
        if (reduce && reduce->op == ir::ReduceOp::sum && reduce->over == std::vector{dims.back()})
            sums.push_back(static_cast<ExprId>(i));
        else if (!is_pointwise(rows.exprs[i].node))
            return std::nullopt;
        // The emitted functions know only one extent, the length of a row.
        if (const auto* extent = std::get_if<ir::Extent>(&rows.exprs[i].node);
            extent && extent->dim != dims.back())
            return std::nullopt;
    }
    if (sums.empty() || sums.size() > 2) return std::nullopt;
    RowStatistics found{rows, sums.front(), {}, std::move(params)};
    if (sums.size() == 2) {
        if (!is_squared_distance(rows, summed(rows, sums.back()), sums.front()))
            return std::nullopt;
        found.squares = sums.back();
    }
    for (const ir::Output& output : rows.outputs) {
        if (output.tensor.type.dims != row_dims || output.tensor.type.dtype != DType::f32 ||
            rows[output.value].type.dtype != DType::f32)
            return std::nullopt;
        results.push_back(output.value);
    }
    // Results may depend only on the sums, and what is summed only on one element.
    const auto after_sums = computed_for(rows, results, sums);
    if (std::ranges::find(after_sums, rows_of(rows)) != after_sums.end()) return std::nullopt;
    const ir::Type& term = rows[summed(rows, sums.front())].type;
    if (term.dims != dims || !info(term.dtype).floating) return std::nullopt;
    return found;
}

void emit_row_values(emit::CodeWriter& writer, const RowStatistics& statistics) {
    const ir::Kernel& kernel = statistics.kernel;
    auto values = writer.block("struct RowValues", ";");
    writer.line("using F = Functions<float>;");
    writer.line(fmt::format("static constexpr int kCount = {};", kernel.outputs.size()));
    writer.line(
        fmt::format("static constexpr bool kCentered = {};", statistics.squares.has_value()));
    writer.line();
    if (!statistics.squares) {
        auto term = writer.block("__device__ static float term(float x)");
        FunctionText text(writer, kernel);
        text.set(rows_of(kernel), "x");
        const ExprId root = summed(kernel, statistics.sum);
        writer.line(fmt::format("return {};", text.compute(root)),
                    kernel.line_of(kernel[root].span));
    }
    auto store = writer.block(
        fmt::format("__device__ static void store(float* const (&values)[kCount], int row, float "
                    "sum,{} int count)",
                    statistics.squares ? " float squares," : ""));
    FunctionText text(writer, kernel);
    text.set(statistics.sum, "sum");
    if (statistics.squares) text.set(*statistics.squares, "squares");
    for (std::size_t i = 0; i < kernel.outputs.size(); ++i)
        writer.line(fmt::format("values[{}][row] = {};", i, text.declare(kernel.outputs[i].value)));
}

}  // namespace fact::lower

#include "ir/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ir/dims.h"
#include "ir/elementwise.h"
#include "ir/extents.h"
#include "ir/matmul.h"
#include "ir/number.h"
#include "ir/reduction.h"

namespace fact::ir {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();  // a masked score

class Interpreter {
  public:
    Interpreter(const Kernel& kernel, const InterpretOptions& options)
        : kernel_(kernel), environment_{kernel, {}, {}, options.round_casts, options.threads} {
        for (const Dim& dim : kernel.dims)
            environment_.extents.push_back(dim.extent.value_or(kUnknownExtent));
    }

    // Checks the view and binds the extents of its dimensions.
    Result<> bind(const Tensor& tensor, const TensorView& view) {
        const auto refuse = [&](std::string what) -> Result<> {
            return Error{
                fmt::format("kernel '{}', tensor '{}': {}", kernel_.name, tensor.name, what),
                "pass tensors as the kernel declares them"};
        };
        const Type& type = tensor.type;
        const bool wider = info(type.dtype).floating && view.dtype == DType::f64;
        if (view.dtype != type.dtype && !wider)
            return refuse(fmt::format("the element type is {}, not {}", info(view.dtype).name,
                                      info(type.dtype).name));
        if (view.sizes.size() != type.dims.size() || view.strides.size() != type.dims.size())
            return refuse(
                fmt::format("it has {} dimensions, not {}", view.sizes.size(), type.dims.size()));
        bool empty = false;
        for (std::size_t i = 0; i < type.dims.size(); ++i) {
            std::int64_t& extent = environment_.extents[index(type.dims[i])];
            if (view.sizes[i] < 0) return refuse("it has a negative extent");
            if (extent < 0) extent = view.sizes[i];
            if (extent != view.sizes[i])
                return refuse(fmt::format("dimension {} has {} elements, but {} elsewhere",
                                          kernel_[type.dims[i]].name, view.sizes[i], extent));
            empty |= view.sizes[i] == 0;
        }
        if (!view.data && !empty) return refuse("it has no data");
        return Ok{};
    }

    // Computes the extents that no tensor has.
    Result<> solve() {
        if (auto problem = solve_extents(kernel_, environment_.extents); !problem.empty())
            return Error{fmt::format("kernel '{}': {}", kernel_.name, problem),
                         "pass tensors whose extents agree"};
        return Ok{};
    }

    void run(std::span<const TensorView> params, std::span<const TensorView> outputs) {
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (const auto* param = std::get_if<Param>(&kernel_.exprs[i].node))
                environment_.sources[static_cast<std::uint32_t>(i)] =
                    source(params[param->index], kernel_.exprs[i].type.dims);
        const auto live = reachable(kernel_);
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (live[i]) compute(static_cast<ExprId>(i));
        for (std::size_t i = 0; i < outputs.size(); ++i) write(kernel_.outputs[i], outputs[i]);
    }

  private:
    // By dimension id; 0 for dimensions that the tensor lacks.
    std::vector<std::int64_t> strides_of(const TensorView& view,
                                         const std::vector<DimId>& dims) const {
        std::vector<std::int64_t> strides(kernel_.dims.size());
        for (std::size_t i = 0; i < dims.size(); ++i) strides[index(dims[i])] = view.strides[i];
        return strides;
    }

    Source source(const TensorView& view, const std::vector<DimId>& dims) const {
        return {view.data, view.dtype, strides_of(view, dims)};
    }

    std::int64_t extent(DimId dim) const { return environment_.extents[index(dim)]; }
    std::int64_t count(const std::vector<DimId>& dims) const {
        std::int64_t product = 1;
        for (const DimId dim : dims) product *= extent(dim);
        return product;
    }

    // What is not elementwise is computed as a whole; later expressions load it.
    void compute(ExprId id) {
        const std::vector<DimId>& dims = kernel_[id].type.dims;
        std::visit(overloaded{
                       [&](const Product& n) { keep(id, multiply(n.a, n.b, true, dims)); },
                       [&](const View& n) {
                           keep(id, materialize(environment_, n.x, kernel_[n.x].type.dims));
                       },
                       [&](const Flip& n) { keep_flipped(id, n); },
                       [&](const Window& n) { keep_windows(id, n); },
                       [&](const Reduce& n) { keep(id, reduced(n, dims)); },
                       [&](const Scan& n) { keep_scanned(id, n); },
                       [&](const Attention& n) { keep(id, attend(n, dims)); },
                       [&](const LogSumExp& n) {
                           keep(id, log_sums(std::get<Attention>(kernel_[n.attention].node), dims));
                       },
                       [](const one_of<Param, Literal, Index, Extent, Unary, Binary, Select, Cast,
                                       Permute, Expand> auto&) {},
                   },
                   kernel_[id].node);
    }

    void keep(ExprId id, std::vector<double> values) {
        keep(id, std::move(values), kernel_[id].type.dims);
    }
    // The elements in the order of `dims`.
    void keep(ExprId id, std::vector<double> values, const std::vector<DimId>& dims) {
        results_.push_back(std::move(values));
        environment_.sources[static_cast<std::uint32_t>(index(id))] = {
            results_.back().data(), DType::f64, contiguous_strides(environment_, dims)};
    }

    // Keeps the elements in the order of x, but they are loaded with a negative stride along the
    // dimension.
    void keep_flipped(ExprId id, const Flip& flip) {
        keep(id, materialize(environment_, flip.x, kernel_[id].type.dims));
        Source& source = environment_.sources[static_cast<std::uint32_t>(index(id))];
        std::int64_t& stride = source.strides[index(flip.dim)];
        if (!results_.back().empty())
            source.data = results_.back().data() + (extent(flip.dim) - 1) * stride;
        stride = -stride;
    }

    // Keeps x with what is outside of it; windows then overlap in memory.
    void keep_windows(ExprId id, const Window& window) {
        const auto& x_dims = kernel_[window.x].type.dims;
        const std::vector<double> x = materialize(environment_, window.x, x_dims);
        std::vector<std::int64_t> before(x_dims.size()), padded(x_dims.size());
        std::int64_t size = 1;
        for (std::size_t i = x_dims.size(); i-- > 0;) {
            padded[i] = extent(x_dims[i]);
            for (const DimId places : window.places)
                if (const WindowRule& rule = *kernel_[places].window; rule.of == x_dims[i]) {
                    before[i] = rule.before;
                    padded[i] = std::max<std::int64_t>(padded[i] + rule.before + rule.after, 0);
                }
            size *= padded[i];
        }
        std::vector<double> values(size, window.outside);
        std::vector<std::int64_t> strides(kernel_.dims.size());  // of the padded array
        std::int64_t stride = 1;
        for (std::size_t i = x_dims.size(); i-- > 0; stride *= padded[i])
            strides[index(x_dims[i])] = stride;
        for (std::int64_t at = 0; at < std::ssize(x); ++at) {
            std::int64_t rest = at, offset = 0;
            bool seen = true;  // false if windows leave the element out
            for (std::size_t i = x_dims.size(); i-- > 0; rest /= extent(x_dims[i])) {
                const std::int64_t to = rest % extent(x_dims[i]) + before[i];
                seen &= to >= 0 && to < padded[i];
                offset += to * strides[index(x_dims[i])];
            }
            if (seen) values[offset] = x[at];
        }
        keep(id, std::move(values));
        Source& source = environment_.sources[static_cast<std::uint32_t>(index(id))];
        for (const DimId places : window.places) {
            const WindowRule& rule = *kernel_[places].window;
            strides[index(places)] = rule.stride * strides[index(rule.of)];
            strides[index(rule.taps)] = rule.dilation * strides[index(rule.of)];
            strides[index(rule.of)] = 0;
        }
        source.strides = std::move(strides);
    }

    std::vector<double> reduced(const Reduce& node, const std::vector<DimId>& kept) const {
        std::vector<DimId> order = kept;
        order.insert(order.end(), node.over.begin(), node.over.end());
        return reduce_rows(node.op, materialize(environment_, node.x, order), count(kept),
                           count(node.over));
    }

    // Kept with the scanned dimensions last, whatever their order in the expression's type.
    void keep_scanned(ExprId id, const Scan& scan) {
        std::vector<DimId> order;
        for (const DimId dim : kernel_[id].type.dims)
            if (!contains(scan.over, dim)) order.push_back(dim);
        const std::int64_t rows = count(order);
        order.insert(order.end(), scan.over.begin(), scan.over.end());
        std::vector<double> values = materialize(environment_, scan.x, order);
        scan_rows(scan.op, scan.backwards, values, rows, count(scan.over));
        keep(id, std::move(values), order);
    }

    // Scores of an attention after scale, cap, bias and mask, as a matrix of rows x columns.
    struct Scores {
        std::vector<DimId> dims;
        std::vector<double> values;
        std::int64_t rows = 0, columns = 0;

        std::span<double> row(std::int64_t r) {
            return {values.data() + r * columns, static_cast<std::size_t>(columns)};
        }
    };
    // `rows`: the batch dimensions, then M.
    Scores scores_of(const Attention& node, const std::vector<DimId>& rows) const {
        const DimId m = rows.back(), n = kernel_[node.k].type.dims.end()[-2];
        Scores scores{rows, {}, count(rows), extent(n)};
        scores.dims.push_back(n);
        scores.values = multiply(node.q, node.k, false, scores.dims);
        std::vector<double> bias;
        if (node.bias) bias = materialize(environment_, *node.bias, scores.dims);
        for (std::int64_t r = 0; r < scores.rows; ++r)
            for (std::int64_t c = 0; c < scores.columns; ++c) {
                double& score = scores.values[r * scores.columns + c];
                score *= node.scale;
                if (node.cap) score = *node.cap * std::tanh(score / *node.cap);
                if (!bias.empty()) score += bias[r * scores.columns + c];
                if (!node.sees(r % extent(m), c)) score = kHidden;
            }
        return scores;
    }

    // Exact in f64: kernels approximate it with running sums.
    std::vector<double> attend(const Attention& node, const std::vector<DimId>& dims) const {
        Scores scores = scores_of(node, {dims.begin(), dims.end() - 1});
        std::vector<bool> unseen(scores.rows);  // rows that see no column
        for (std::int64_t r = 0; r < scores.rows; ++r)
            unseen[r] = std::ranges::all_of(scores.row(r), [](double x) { return x == kHidden; });
        softmax_rows(scores.values, scores.rows, scores.columns);
        if (node.empty_rows_are_zero)
            for (std::int64_t r = 0; r < scores.rows; ++r)
                if (unseen[r]) std::ranges::fill(scores.row(r), 0.0);
        return multiply(std::move(scores.values), scores.dims, node.v, true, dims);
    }

    std::vector<double> log_sums(const Attention& node, const std::vector<DimId>& dims) const {
        Scores scores = scores_of(node, dims);
        std::vector<double> sums;
        for (std::int64_t r = 0; r < scores.rows; ++r) {
            double top = kHidden, sum = 0;
            for (const double x : scores.row(r)) top = std::isnan(x) ? x : std::max(top, x);
            // Avoids -inf - -inf if all scores are -inf.
            const double base = top == kHidden ? 0 : top;
            for (const double x : scores.row(r)) sum += std::exp(x - base);
            sums.push_back(base + std::log(sum));
        }
        return sums;
    }

    // With a[..., M, K], b[..., K, N] (`b_is_kn`) or b[..., N, K], and a result over `dims`. f64
    // satisfies any precision.
    std::vector<double> multiply(ExprId a, ExprId b, bool b_is_kn,
                                 const std::vector<DimId>& dims) const {
        const auto& a_dims = kernel_[a].type.dims;
        return multiply(materialize(environment_, a, a_dims), a_dims, b, b_is_kn, dims);
    }

    std::vector<double> multiply(const std::vector<double>& a, const std::vector<DimId>& a_dims,
                                 ExprId b_expr, bool b_is_kn,
                                 const std::vector<DimId>& dims) const {
        auto b_dims = kernel_[b_expr].type.dims;
        if (b_is_kn) std::swap(b_dims.end()[-1], b_dims.end()[-2]);
        const auto b = materialize(environment_, b_expr, b_dims);

        const std::vector<DimId> batch_dims(dims.begin(), dims.end() - 2);
        const auto a_strides = contiguous_strides(environment_, {a_dims.begin(), a_dims.end() - 2});
        const auto b_strides = contiguous_strides(environment_, {b_dims.begin(), b_dims.end() - 2});
        std::vector<BatchItem> batch(count(batch_dims));
        for (std::int64_t c = 0; c < static_cast<std::int64_t>(batch.size()); ++c) {
            std::int64_t rest = c;
            for (std::size_t i = batch_dims.size(); i-- > 0;) {
                const std::int64_t at = rest % extent(batch_dims[i]);
                rest /= extent(batch_dims[i]);
                batch[c].a += at * a_strides[index(batch_dims[i])];
                batch[c].b += at * b_strides[index(batch_dims[i])];
            }
        }
        return matmul(a, b, batch, extent(dims.end()[-2]), extent(dims.back()),
                      extent(a_dims.back()), environment_.threads);
    }

    void write(const Output& output, const TensorView& view) {
        const auto& dims = output.tensor.type.dims;
        const auto strides = strides_of(view, dims);
        const std::int64_t step = dims.empty() ? 0 : view.strides.back();
        evaluate(
            environment_, output.value, dims,
            [&](const std::vector<std::int64_t>& at, std::int64_t count, const double* values) {
                std::int64_t offset = 0;
                for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
                store(view.data, view.dtype, offset, step, count, values);
            });
    }

    const Kernel& kernel_;
    Environment environment_;
    std::vector<std::vector<double>> results_;  // sources point into these; growing moves no data
};

}  // namespace

Result<> interpret(const Kernel& kernel, std::span<const TensorView> params,
                   std::span<const TensorView> outputs, const InterpretOptions& options) {
    if (const auto problem = verify(kernel); !problem.empty())
        throw InternalError("interpreting an ill-formed kernel: " + problem);
    if (kernel.only_interface)
        return Error{fmt::format("kernel '{}' is written in CUDA: only a GPU runs it", kernel.name),
                     ""};
    if (params.size() != kernel.params.size() || outputs.size() != kernel.outputs.size())
        return Error{
            fmt::format("kernel '{}' takes {} tensors and gives {}, not {} and {}", kernel.name,
                        kernel.params.size(), kernel.outputs.size(), params.size(), outputs.size()),
            "pass tensors as the kernel declares them"};
    Interpreter interpreter(kernel, options);
    for (std::size_t i = 0; i < params.size(); ++i)
        if (auto bound = interpreter.bind(kernel.params[i], params[i]); !bound) return bound;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (auto bound = interpreter.bind(kernel.outputs[i].tensor, outputs[i]); !bound)
            return bound;
    if (auto solved = interpreter.solve(); !solved) return solved;
    interpreter.run(params, outputs);
    return Ok{};
}

}  // namespace fact::ir

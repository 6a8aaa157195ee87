#include "ir/interpreter.h"

#include <fmt/format.h>

#include "ir/elementwise.h"
#include "ir/matmul.h"
#include "ir/number.h"

namespace fact::ir {
namespace {

class Interpreter {
  public:
    Interpreter(const Kernel& kernel, const InterpretOptions& options)
        : kernel_(kernel), environment_{kernel, {}, {}, options.round_casts, options.threads} {
        for (const Dim& dim : kernel.dims) environment_.extents.push_back(dim.extent.value_or(-1));
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
                return refuse(fmt::format("dimension {} has {} elements, elsewhere {}",
                                          kernel_[type.dims[i]].name, view.sizes[i], extent));
            empty |= view.sizes[i] == 0;
        }
        if (!view.data && !empty) return refuse("it has no data");
        return Ok{};
    }

    void run(std::span<const TensorView> params, std::span<const TensorView> outputs) {
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (const auto* param = std::get_if<Param>(&kernel_.exprs[i].node))
                environment_.sources[static_cast<std::uint32_t>(i)] =
                    source(params[param->index], kernel_.exprs[i].type.dims);
        const auto live = live_expressions();
        for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
            if (const auto* product = std::get_if<Product>(&kernel_.exprs[i].node))
                if (live[i]) multiply(static_cast<ExprId>(i), *product);
        for (std::size_t i = 0; i < outputs.size(); ++i) write(kernel_.outputs[i], outputs[i]);
    }

  private:
    std::vector<std::int64_t> strides_of(const TensorView& view,
                                         const std::vector<DimId>& dims) const {
        std::vector<std::int64_t> strides(kernel_.dims.size());
        for (std::size_t i = 0; i < dims.size(); ++i) strides[index(dims[i])] = view.strides[i];
        return strides;
    }

    Source source(const TensorView& view, const std::vector<DimId>& dims) const {
        return {view.data, view.dtype, strides_of(view, dims)};
    }

    std::vector<bool> live_expressions() const {
        std::vector<bool> live(kernel_.exprs.size());
        for (const Output& output : kernel_.outputs) live[index(output.value)] = true;
        for (std::size_t i = live.size(); i-- > 0;)
            if (live[i])
                for_each_operand(kernel_.exprs[i].node, [&](ExprId id) { live[index(id)] = true; });
        return live;
    }

    std::int64_t extent(DimId dim) const { return environment_.extents[index(dim)]; }

    // Any precision is at least met by f64.
    void multiply(ExprId id, const Product& product) {
        const auto& dims = kernel_[id].type.dims;
        const auto& a_dims = kernel_[product.a].type.dims;
        auto b_dims = kernel_[product.b].type.dims;
        std::swap(b_dims.end()[-1], b_dims.end()[-2]);
        const auto a = materialize(environment_, product.a, a_dims);
        const auto b = materialize(environment_, product.b, b_dims);

        const std::vector<DimId> batch_dims(dims.begin(), dims.end() - 2);
        const auto a_strides = contiguous_strides(environment_, {a_dims.begin(), a_dims.end() - 2});
        const auto b_strides = contiguous_strides(environment_, {b_dims.begin(), b_dims.end() - 2});
        std::int64_t count = 1;
        for (const DimId dim : batch_dims) count *= extent(dim);
        std::vector<BatchItem> batch(count);
        for (std::int64_t c = 0; c < count; ++c) {
            std::int64_t rest = c;
            for (std::size_t i = batch_dims.size(); i-- > 0;) {
                const std::int64_t at = rest % extent(batch_dims[i]);
                rest /= extent(batch_dims[i]);
                batch[c].a += at * a_strides[index(batch_dims[i])];
                batch[c].b += at * b_strides[index(batch_dims[i])];
            }
        }
        results_.push_back(matmul(a, b, batch, extent(dims.end()[-2]), extent(dims.back()),
                                  extent(a_dims.back()), environment_.threads));
        environment_.sources[static_cast<std::uint32_t>(index(id))] = {
            results_.back().data(), DType::f64, contiguous_strides(environment_, dims)};
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
    std::vector<std::vector<double>> results_;  // of products; moving keeps the data in place
};

}  // namespace

Result<> interpret(const Kernel& kernel, std::span<const TensorView> params,
                   std::span<const TensorView> outputs, const InterpretOptions& options) {
    if (const auto problem = verify(kernel); !problem.empty())
        throw InternalError("interpreting an ill-formed kernel: " + problem);
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
    interpreter.run(params, outputs);
    return Ok{};
}

}  // namespace fact::ir

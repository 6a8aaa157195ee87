#include "torch/text_kernel.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "ir/extents.h"
#include "ir/interpreter.h"
#include "torch/kernel_files.h"
#include "torch/stream.h"
#include "torch/tensors.h"

namespace fact::exec {

struct TextKernel::State {
    ir::Kernel text;
    Compiled compiled;

    // The sizes of the outputs, from those of the parameters.
    std::vector<std::int64_t> solved(const Tensors& params) const {
        std::vector<std::int64_t> extents(text.dims.size(), ir::kUnknownExtent);
        for (std::size_t i = 0; i < params.size(); ++i) {
            const auto& dims = text.params[i].type.dims;
            TORCH_CHECK(static_cast<std::size_t>(params[i].dim()) == dims.size(), text.name, ": ",
                        text.params[i].name, " has ", params[i].dim(), " dimensions, not ",
                        dims.size());
            for (std::size_t d = 0; d < dims.size(); ++d) {
                std::int64_t& extent = extents[ir::index(dims[d])];
                const std::int64_t size = params[i].size(static_cast<std::int64_t>(d));
                TORCH_CHECK(extent == ir::kUnknownExtent || extent == size, text.name,
                            ": dimension ", text[dims[d]].name, " is ", size, " in ",
                            text.params[i].name, " and ", extent, " elsewhere");
                extent = size;
            }
        }
        const std::string problem = ir::solve_extents(text, extents);
        TORCH_CHECK(problem.empty(), text.name, ": ", problem);
        return extents;
    }
};

namespace {

template <class View>
View view_of(const std::string& kernel, const std::string& name, const at::Tensor& tensor) {
    const auto dtype = dtype_of(tensor.scalar_type());
    TORCH_CHECK(dtype.has_value(), kernel, ": ", name, " has an element type no kernel takes");
    return {const_cast<void*>(tensor.const_data_ptr()), *dtype, tensor.sizes().vec(),
            tensor.strides().vec()};
}

template <class View>
std::vector<View> views(const ir::Kernel& text, const Tensors& params, const Tensors& outputs) {
    std::vector<View> all;
    for (std::size_t i = 0; i < params.size(); ++i)
        all.push_back(view_of<View>(text.name, text.params[i].name, params[i]));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        all.push_back(view_of<View>(text.name, text.outputs[i].tensor.name, outputs[i]));
    return all;
}

}  // namespace

TextKernel::TextKernel(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextKernel::~TextKernel() = default;

Result<std::shared_ptr<TextKernel>> TextKernel::open(const std::filesystem::path& folder) {
    auto text = read_kernel_text(folder / "kernel.fact");
    if (!text) return text.error();
    auto state = std::make_unique<State>();
    state->text = std::move(*text);
    state->compiled = read_compiled(folder / "kernel.cubin", folder / "record.json");
    return std::shared_ptr<TextKernel>(new TextKernel(std::move(state)));
}

const ir::Kernel& TextKernel::text() const {
    return state_->text;
}

Tensors TextKernel::run(const Tensors& params) {
    const ir::Kernel& text = state_->text;
    TORCH_CHECK(params.size() == text.params.size() && !params.empty(), text.name, " takes ",
                text.params.size(), " tensors, got ", params.size());
    const auto device = params[0].device();
    for (const auto& param : params)
        TORCH_CHECK(param.device() == device, text.name, ": the tensors are on different devices");
    const auto extents = state_->solved(params);
    Tensors outputs;
    for (const ir::Output& output : text.outputs) {
        std::vector<std::int64_t> sizes;
        for (const ir::DimId dim : output.tensor.type.dims)
            sizes.push_back(extents[ir::index(dim)]);
        outputs.push_back(at::empty(
            sizes, at::TensorOptions(scalar_type(output.tensor.type.dtype)).device(device)));
    }
    if (device.is_cpu()) {
        const auto all = views<ir::TensorView>(text, params, outputs);
        const std::span<const ir::TensorView> span(all);
        const auto done =
            ir::interpret(text, span.first(params.size()), span.subspan(params.size()));
        TORCH_CHECK(done.ok(), done.ok() ? "" : done.error().text());
        return outputs;
    }
    TORCH_CHECK(device.is_cuda(), text.name, ": there are no kernels for ", device.str());
    const c10::DeviceGuard guard(device);
    TORCH_CHECK(state_->compiled.kernel, text.name, ": ", state_->compiled.why_not);
    const auto loaded = state_->compiled.kernel->on(device.index());
    TORCH_CHECK(loaded.ok(), text.name, ": ", loaded.ok() ? "" : loaded.error().text());
    const gpu::Kernel& kernel = *loaded;
    auto tensors = views<gpu::TensorArg>(text, params, outputs);
    const std::string why = kernel.refuses(tensors);
    TORCH_CHECK(why.empty(), text.name, ": ", why);
    Tensors memory;
    for (auto& workspace : kernel.workspaces(tensors)) {
        memory.push_back(at::empty(workspace.sizes,
                                   at::TensorOptions(scalar_type(workspace.dtype)).device(device)));
        workspace.data = memory.back().data_ptr();
        tensors.push_back(std::move(workspace));
    }
    const auto launched = kernel.launch(tensors, {}, current_cuda_stream(device.index()));
    TORCH_CHECK(launched.ok(), launched.ok() ? "" : launched.error().text());
    return outputs;
}

}  // namespace fact::exec

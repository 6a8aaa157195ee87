#include "torch/text_kernel.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "ir/extents.h"
#include "ir/interpreter.h"
#include "support/files.h"
#include "support/hash.h"
#include "torch/kernel_files.h"
#include "torch/stream.h"
#include "torch/tensors.h"

namespace fact::exec {

struct TextKernel::State {
    std::string identity;
    ir::Kernel text;
    Compiled compiled;

    void check_dims(const Tensors& params) const {
        TORCH_CHECK(params.size() == text.params.size() && !params.empty(),
                    fmt::format("{} takes {} tensors, got {}", text.name, text.params.size(),
                                params.size()));
        for (std::size_t i = 0; i < params.size(); ++i) {
            const std::size_t dims = text.params[i].type.dims.size();
            TORCH_CHECK(static_cast<std::size_t>(params[i].dim()) == dims,
                        fmt::format("{}: {} has {} dimensions, not {}", text.name,
                                    text.params[i].name, params[i].dim(), dims));
        }
    }

    // The extent of every dimension, from the sizes of the parameters. Symbolic sizes become
    // numbers.
    std::vector<std::int64_t> extents_of(const Tensors& params) const {
        std::vector<std::int64_t> extents(text.dims.size(), ir::kUnknownExtent);
        for (std::size_t i = 0; i < params.size(); ++i) {
            const auto& dims = text.params[i].type.dims;
            for (std::size_t d = 0; d < dims.size(); ++d) {
                std::int64_t& extent = extents[ir::index(dims[d])];
                const std::int64_t size =
                    params[i].sym_size(static_cast<std::int64_t>(d)).guard_int(__FILE__, __LINE__);
                TORCH_CHECK(extent == ir::kUnknownExtent || extent == size,
                            fmt::format("{}: dimension {} is {} in {} and {} elsewhere", text.name,
                                        text[dims[d]].name, size, text.params[i].name, extent));
                extent = size;
            }
        }
        const std::string problem = ir::solve_extents(text, extents);
        TORCH_CHECK(problem.empty(), text.name, ": ", problem);
        return extents;
    }

    // The extents as the parameters have them, if some are symbolic and they include all dimensions
    // of the outputs. They are checked when the kernel runs.
    std::optional<std::vector<c10::SymInt>> symbolic_extents_of(const Tensors& params) const {
        std::vector<c10::SymInt> extents(text.dims.size(), c10::SymInt(ir::kUnknownExtent));
        bool usable = false;
        std::vector<bool> known(text.dims.size());
        for (std::size_t i = 0; i < params.size(); ++i) {
            const auto& dims = text.params[i].type.dims;
            for (std::size_t d = 0; d < dims.size(); ++d) {
                extents[ir::index(dims[d])] = params[i].sym_size(static_cast<std::int64_t>(d));
                known[ir::index(dims[d])] = true;
                usable |= extents[ir::index(dims[d])].is_heap_allocated();
            }
        }
        for (const ir::Output& output : text.outputs)
            for (const ir::DimId dim : output.tensor.type.dims) usable &= known[ir::index(dim)];
        return usable ? std::optional(std::move(extents)) : std::nullopt;
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
    auto identity = identity_of(folder);
    if (!identity) return identity.error();
    auto text = read_kernel_text(folder / "kernel.fact");
    if (!text) return text.error();
    auto compiled = read_compiled(folder / "kernel.cubin", folder / "record.json");
    if (const auto now = identity_of(folder); !now || *now != *identity)
        return Error{folder.string() + " was written to while it was read", "open it once more"};
    auto state = std::make_unique<State>();
    state->identity = std::move(*identity);
    state->text = std::move(*text);
    state->compiled = std::move(compiled);
    return std::shared_ptr<TextKernel>(new TextKernel(std::move(state)));
}

Result<std::string> TextKernel::identity_of(const std::filesystem::path& folder) {
    std::string content;
    for (const auto* name : {"kernel.fact", "record.json", "kernel.cubin"}) {
        // A folder without the other two files still runs on the CPU.
        const bool is_text = std::string_view(name) == "kernel.fact";
        if (!is_text && !std::filesystem::exists(folder / name)) continue;
        const auto bytes = read_file(folder / name);
        if (!bytes) return bytes.error();
        content += fmt::format("{} {}\n", sha256_hex(*bytes), name);
    }
    return sha256_hex(content);
}

const std::string& TextKernel::identity() const {
    return state_->identity;
}

void TextKernel::load_on(c10::DeviceIndex device) {
    if (state_->compiled.kernel) (void)state_->compiled.kernel->on(device);
}

const ir::Kernel& TextKernel::text() const {
    return state_->text;
}

Tensors TextKernel::shapes(const Tensors& params) const {
    const ir::Kernel& text = state_->text;
    state_->check_dims(params);
    auto extents = state_->symbolic_extents_of(params);
    if (!extents) {
        const auto numbers = state_->extents_of(params);
        extents.emplace(numbers.begin(), numbers.end());
    }
    Tensors outputs;
    for (const ir::Output& output : text.outputs) {
        std::vector<c10::SymInt> sizes;
        for (const ir::DimId dim : output.tensor.type.dims)
            sizes.push_back((*extents)[ir::index(dim)]);
        const auto dtype = scalar_type(output.tensor.type.dtype);
        outputs.push_back(
            at::empty_symint(sizes, at::TensorOptions(dtype).device(params[0].device())));
    }
    return outputs;
}

Tensors TextKernel::run(const Tensors& params) {
    const ir::Kernel& text = state_->text;
    state_->check_dims(params);
    const auto device = params[0].device();
    for (const auto& param : params)
        TORCH_CHECK(param.device() == device, text.name, ": the tensors are on different devices");
    state_->extents_of(params);  // throws if the sizes do not fit the text
    Tensors outputs = shapes(params);
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
    const std::string why = kernel.why_refused(tensors);
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

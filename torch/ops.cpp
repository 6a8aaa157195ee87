// The operators that Python calls. Those that compute are functional, have kernels for CPU and CUDA
// and a shape function, so that torch.compile and torch.export keep them as they are. Packages and
// kernels are named by content and path (content_name.h), so that a stored call always means the
// same package or kernel.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include "torch/open_table.h"
#include "torch/package.h"
#include "torch/text_kernel.h"

namespace {

using fact::exec::LoadOptions;
using fact::exec::OpenTable;
using fact::exec::Package;
using fact::exec::TextKernel;
using Tensors = std::vector<at::Tensor>;
// at::TensorList, because the dispatcher finds tensors only in lists of this type.
using Run = Tensors(const std::string&, at::TensorList);
using RunPackage = Tensors(const std::string&, at::TensorList, bool);

// Never destroyed: the GPU context may already be gone when static objects are destroyed.
OpenTable<Package>& packages() {
    static auto* table = new OpenTable<Package>;
    return *table;
}
OpenTable<TextKernel>& kernels() {
    static auto* table = new OpenTable<TextKernel>;
    return *table;
}

// Throws, and closes the package for the caller, if it calls operators that these options do not
// allow: a package that was open already may have been opened with other options.
void check_allowed(const std::string& package, const LoadOptions& options) {
    const auto allowed = packages().at(package)->permits(options);
    if (allowed) return;
    packages().close(package);
    TORCH_CHECK(false, allowed.error().text());
}

std::string open_package(const std::string& path, const std::vector<std::string>& allow) {
    const LoadOptions options{allow};
    const auto package = packages().open(path, options);
    check_allowed(package, options);
    return package;
}

// Opens a package by its name for one more holder, such as a copy of a module, who will close it.
void reopen_package(const std::string& package, const std::vector<std::string>& allow) {
    const LoadOptions options{allow};
    packages().open_again(package, options);
    check_allowed(package, options);
}

void close_package(const std::string& package) {
    packages().close(package);
}

Tensors package_weights(const std::string& package, const std::vector<std::int64_t>& which) {
    return packages().at(package)->weights(which);
}

std::string package_signature(const std::string& package) {
    return packages().at(package)->signature_json();
}

void load_package_on(const std::string& package, std::int64_t gpu) {
    packages().at(package)->load_on(static_cast<c10::DeviceIndex>(gpu));
}

void refresh_package(const std::string& package) {
    packages().at(package)->refresh();
}

std::string package_status(const std::string& package, at::Device device) {
    return packages().at(package)->status_json(device);
}

Tensors run_package(const std::string& package, at::TensorList inputs, bool strict) {
    return packages().at(package)->run(inputs.vec(), strict);
}

Tensors package_shapes(const std::string& package, at::TensorList inputs, bool) {
    return packages().at(package)->shapes(inputs.vec());
}

std::string open_kernel(const std::string& folder) {
    return kernels().open(folder);
}

// Like reopen_package.
void reopen_kernel(const std::string& kernel) {
    kernels().open_again(kernel);
}

void close_kernel(const std::string& kernel) {
    kernels().close(kernel);
}

void load_kernel_on(const std::string& kernel, std::int64_t gpu) {
    kernels().at(kernel)->load_on(static_cast<c10::DeviceIndex>(gpu));
}

std::vector<std::string> kernel_params(const std::string& kernel) {
    std::vector<std::string> names;
    for (const auto& param : kernels().at(kernel)->text().params) names.push_back(param.name);
    return names;
}

Tensors run_kernel(const std::string& kernel, at::TensorList params) {
    return kernels().at(kernel)->run(params.vec());
}

Tensors kernel_shapes(const std::string& kernel, at::TensorList params) {
    return kernels().at(kernel)->shapes(params.vec());
}

// The index of the first tensor that requires a gradient, or -1.
std::ptrdiff_t first_with_gradient(at::TensorList tensors) {
    if (!at::GradMode::is_enabled()) return -1;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i].requires_grad()) return static_cast<std::ptrdiff_t>(i);
    return -1;
}

Tensors run_package_on_autograd(const std::string& package, at::TensorList inputs, bool strict) {
    if (const auto place = first_with_gradient(inputs); place >= 0)
        TORCH_CHECK(false, packages().at(package)->input_name(static_cast<std::size_t>(place)),
                    " requires a gradient and packages have no backward: call under "
                    "torch.no_grad() or detach it");
    static const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow("fact::run_package", "").typed<RunPackage>();
    // Still above ADInplaceOrView: executor.cpp says why.
    const at::AutoDispatchBelowAutograd below;
    return op.call(package, inputs, strict);
}

Tensors run_kernel_on_autograd(const std::string& kernel, at::TensorList params) {
    if (const auto place = first_with_gradient(params); place >= 0)
        TORCH_CHECK(false, kernel_params(kernel).at(static_cast<std::size_t>(place)),
                    " requires a gradient and kernels have no backward: call under "
                    "torch.no_grad() or detach it");
    static const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow("fact::run_kernel", "").typed<Run>();
    const at::AutoDispatchBelowAutograd below;
    return op.call(kernel, params);
}

}  // namespace

TORCH_LIBRARY(fact, library) {
    library.def("open_package(str path, str[] allow) -> str", open_package);
    library.def("reopen_package(str package, str[] allow) -> ()", reopen_package);
    library.def("close_package(str package) -> ()", close_package);
    library.def("package_weights(str package, int[] which) -> Tensor[]", package_weights);
    library.def("package_signature(str package) -> str", package_signature);
    library.def("load_package_on(str package, int gpu) -> ()", load_package_on);
    library.def("refresh_package(str package) -> ()", refresh_package);
    library.def("package_status(str package, Device device) -> str", package_status);
    library.def("fell_back(str text) -> ()");  // see fallback.h
    library.def("open_kernel(str folder) -> str", open_kernel);
    library.def("reopen_kernel(str kernel) -> ()", reopen_kernel);
    library.def("close_kernel(str kernel) -> ()", close_kernel);
    library.def("load_kernel_on(str kernel, int gpu) -> ()", load_kernel_on);
    library.def("kernel_params(str kernel) -> str[]", kernel_params);
    library.def("run_package(str package, Tensor[] inputs, bool strict=False) -> Tensor[]",
                {at::Tag::pt2_compliant_tag});
    library.def("run_kernel(str kernel, Tensor[] params) -> Tensor[]",
                {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(fact, CPU, library) {
    library.impl("run_package", run_package);
    library.impl("run_kernel", run_kernel);
}

TORCH_LIBRARY_IMPL(fact, CUDA, library) {
    library.impl("run_package", run_package);
    library.impl("run_kernel", run_kernel);
}

TORCH_LIBRARY_IMPL(fact, Meta, library) {
    library.impl("run_package", package_shapes);
    library.impl("run_kernel", kernel_shapes);
}

TORCH_LIBRARY_IMPL(fact, Autograd, library) {
    library.impl("run_package", run_package_on_autograd);
    library.impl("run_kernel", run_kernel_on_autograd);
}

// The operators Python calls: packages and kernels by handle, for the life of the process.
#include <torch/library.h>

#include <mutex>

#include "torch/package.h"
#include "torch/text_kernel.h"

namespace {

using fact::exec::Package;
using fact::exec::TextKernel;
using Handle = std::int64_t;

// What is open, by handle.
template <class T>
class Table {
  public:
    template <class... Options>
    Handle open(const std::string& path, const Options&... options) {
        auto opened = T::open(path, options...);
        TORCH_CHECK(opened.ok(), opened.ok() ? "" : opened.error().text());
        const std::lock_guard lock(mutex_);
        items_.push_back(std::move(*opened));
        return static_cast<Handle>(items_.size() - 1);
    }
    std::shared_ptr<T> at(Handle handle) {
        const std::lock_guard lock(mutex_);
        TORCH_CHECK(handle >= 0 && handle < static_cast<Handle>(items_.size()) && items_[handle],
                    "nothing is open with handle ", handle);
        return items_[handle];
    }
    void close(Handle handle) {
        const auto last = at(handle);
        const std::lock_guard lock(mutex_);
        items_[handle].reset();
    }

  private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<T>> items_;
};

// Never destroyed: a GPU may already be gone when static objects are.
Table<Package>& packages() {
    static auto* table = new Table<Package>;
    return *table;
}
Table<TextKernel>& kernels() {
    static auto* table = new Table<TextKernel>;
    return *table;
}

Handle open_package(const std::string& path, const std::vector<std::string>& allow) {
    return packages().open(path, fact::exec::LoadOptions{allow});
}

void close_package(Handle handle) {
    packages().close(handle);
}

std::vector<at::Tensor> run_package(Handle handle, const std::vector<at::Tensor>& inputs,
                                    bool strict) {
    return packages().at(handle)->run(inputs, strict);
}

void load_package_on(Handle handle, std::int64_t gpu) {
    packages().at(handle)->load_on(static_cast<c10::DeviceIndex>(gpu));
}

void refresh_package(Handle handle) {
    packages().at(handle)->refresh();
}

std::string package_status(Handle handle, at::Device device) {
    return packages().at(handle)->status_json(device);
}

std::vector<at::Tensor> package_weights(Handle handle, const std::vector<std::int64_t>& which) {
    return packages().at(handle)->weights(which);
}

std::string package_signature(Handle handle) {
    return packages().at(handle)->signature_json();
}

Handle open_kernel(const std::string& folder) {
    return kernels().open(folder);
}

void close_kernel(Handle handle) {
    kernels().close(handle);
}

std::vector<at::Tensor> run_kernel(Handle handle, const std::vector<at::Tensor>& params) {
    return kernels().at(handle)->run(params);
}

std::vector<std::string> kernel_params(Handle handle) {
    std::vector<std::string> names;
    for (const auto& param : kernels().at(handle)->text().params) names.push_back(param.name);
    return names;
}

}  // namespace

TORCH_LIBRARY(fact, library) {
    library.def("open_package(str path, str[] allow) -> int", open_package);
    library.def("close_package(int handle) -> ()", close_package);
    library.def("run_package(int handle, Tensor[] inputs, bool strict=False) -> Tensor[]",
                run_package);
    library.def("load_package_on(int handle, int gpu) -> ()", load_package_on);
    library.def("refresh_package(int handle) -> ()", refresh_package);
    library.def("package_status(int handle, Device device) -> str", package_status);
    library.def("fell_back(str text) -> ()");  // see fallback.h
    library.def("package_weights(int handle, int[] which) -> Tensor[]", package_weights);
    library.def("package_signature(int handle) -> str", package_signature);
    library.def("open_kernel(str folder) -> int", open_kernel);
    library.def("close_kernel(int handle) -> ()", close_kernel);
    library.def("run_kernel(int handle, Tensor[] params) -> Tensor[]", run_kernel);
    library.def("kernel_params(int handle) -> str[]", kernel_params);
}

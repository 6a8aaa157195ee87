// The operators Python calls: packages by handle, for the life of the process.
#include <torch/library.h>

#include <mutex>

#include "torch/package.h"

namespace {

using fact::exec::Package;
using Handle = std::int64_t;

std::mutex& table_mutex() {
    static std::mutex mutex;
    return mutex;
}

// Never destroyed: a GPU may already be gone when static objects are.
std::vector<std::shared_ptr<Package>>& table() {
    static auto* packages = new std::vector<std::shared_ptr<Package>>;
    return *packages;
}

std::shared_ptr<Package> package(Handle handle) {
    const std::lock_guard lock(table_mutex());
    TORCH_CHECK(handle >= 0 && handle < static_cast<Handle>(table().size()) && table()[handle],
                "there is no open package with handle ", handle);
    return table()[handle];
}

Handle open_package(const std::string& path) {
    auto opened = Package::open(path);
    TORCH_CHECK(opened.ok(), opened.ok() ? "" : opened.error().text());
    const std::lock_guard lock(table_mutex());
    table().push_back(std::move(*opened));
    return static_cast<Handle>(table().size() - 1);
}

void close_package(Handle handle) {
    const auto last = package(handle);
    const std::lock_guard lock(table_mutex());
    table()[handle].reset();
}

std::vector<at::Tensor> run_package(Handle handle, const std::vector<at::Tensor>& inputs) {
    return package(handle)->run(inputs);
}

std::vector<at::Tensor> package_weights(Handle handle) {
    return package(handle)->weights();
}

std::string package_signature(Handle handle) {
    return package(handle)->signature_json();
}

}  // namespace

TORCH_LIBRARY(fact, library) {
    library.def("open_package(str path) -> int", open_package);
    library.def("close_package(int handle) -> ()", close_package);
    library.def("run_package(int handle, Tensor[] inputs) -> Tensor[]", run_package);
    library.def("package_weights(int handle) -> Tensor[]", package_weights);
    library.def("package_signature(int handle) -> str", package_signature);
}

#include "gpu/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "gpu/context.h"
#include "gpu/driver.h"
#include "gpu/launch_plan.h"
#include "support/hash.h"

namespace fact::gpu {

namespace {

thread_local std::function<void(const Launch&)> observer;  // set by the thread's LaunchObserver

constexpr int kPromoteL2To256Bytes = 3;

// The launch attributes: cluster size and early start.
class Attributes {
  public:
    Attributes(const Launch& launch, cuda::LaunchConfig& config) {
        const unsigned blocks = launch.cluster[0] * launch.cluster[1];
        config.attributes = all_.data();
        if (blocks > 1) {
            auto& cluster = all_[config.num_attributes++];
            cluster.id = cuda::LaunchAttribute::kClusterDimension;
            cluster.value.cluster = {blocks, 1, 1};
        }
        if (launch.waits) {
            auto& early = all_[config.num_attributes++];
            early.id = cuda::LaunchAttribute::kMayStartEarly;
            early.value.allowed = 1;
        }
    }

  private:
    std::array<cuda::LaunchAttribute, 2> all_;
};

cuda::Status encode(const cuda::Api& api, const MapGeometry& map, cuda::TensorMap& to) {
    const auto rank = static_cast<unsigned>(map.rank);
    if (map.has_windows)
        return api.encode_im2col(
            &to, map.data_type, rank, map.address, map.extents.data(), map.stride_bytes.data(),
            map.lower_corner.data(), map.upper_corner.data(), map.box[0], map.box[1],
            map.element_strides.data(), 0, map.swizzle, kPromoteL2To256Bytes, 0);
    return api.encode_tiled(&to, map.data_type, rank, map.address, map.extents.data(),
                            map.stride_bytes.data(), map.box.data(), map.element_strides.data(), 0,
                            map.swizzle, kPromoteL2To256Bytes, 0);
}

}  // namespace

struct Kernel::State {
    struct Entry {
        cuda::Function function = nullptr;
        std::int64_t capacity = 0;  // clusters (or thread blocks) on the GPU at a time
    };
    const cuda::Api& api;
    LaunchRecord record;
    cuda::Context context = nullptr;
    cuda::Module module = nullptr;
    std::vector<Entry> entries;  // one per launch
    std::string identity = {};

    ~State() {
        if (module) api.module_unload(module);
    }

    Result<Entry> configure(const Launch& launch, int num_sms) const;
    Result<> launch_one(const Launch& launch, const Entry& entry,
                        std::span<const TensorArg> tensors, Stream stream) const;
};

Result<Kernel::State::Entry> Kernel::State::configure(const Launch& launch, int num_sms) const {
    Entry entry;
    if (auto status = api.module_function(&entry.function, module, launch.entry.c_str()))
        return failure(api, fmt::format("finding the entry '{}'", launch.entry), status);
    // Without this the first launch would load the code, which a capture into a graph forbids.
    if (api.function_load)
        if (auto status = api.function_load(entry.function))
            return failure(api, fmt::format("loading '{}'", launch.entry), status);
    if (auto status =
            api.function_set(entry.function, cuda::kMaxDynamicSharedBytes, launch.shared_bytes))
        return failure(
            api,
            fmt::format("giving '{}' {} bytes of shared memory", launch.entry, launch.shared_bytes),
            status);

    const int cluster = launch.cluster[0] * launch.cluster[1];
    if (cluster > 8)  // the largest cluster that every GPU with clusters supports
        if (auto status = api.function_set(entry.function, cuda::kNonPortableClusterAllowed, 1))
            return failure(api, "cuFuncSetAttribute", status);
    int resident = 0;
    if (cluster == 1) {
        if (auto status =
                api.active_blocks(&resident, entry.function, launch.block, launch.shared_bytes))
            return failure(api, "cuOccupancyMaxActiveBlocksPerMultiprocessor", status);
        entry.capacity = std::int64_t{resident} * num_sms;
    } else {
        cuda::LaunchConfig config;
        config.grid_x = cluster;
        config.block_x = launch.block;
        config.shared_bytes = launch.shared_bytes;
        const Attributes attributes(launch, config);
        if (auto status = api.active_clusters(&resident, entry.function, &config))
            return failure(api, "cuOccupancyMaxActiveClusters", status);
        entry.capacity = resident;
    }
    if (entry.capacity < 1)
        return Error{fmt::format("'{}' does not fit on this GPU: {} threads, {} bytes of shared "
                                 "memory, cluster of {}",
                                 launch.entry, launch.block, launch.shared_bytes, cluster),
                     ""};
    return entry;
}

Result<> Kernel::State::launch_one(const Launch& launch, const Entry& entry,
                                   std::span<const TensorArg> tensors, Stream stream) const {
    std::vector<cuda::TensorMap> maps(launch.params.size());
    std::vector<std::vector<std::byte>> structs(launch.params.size());
    std::vector<void*> params(launch.params.size());
    for (std::size_t i = 0; i < launch.params.size(); ++i) {
        if (const auto* plain = std::get_if<StructParam>(&launch.params[i])) {
            structs[i] = pack(*plain, tensors);
            params[i] = structs[i].data();
            continue;
        }
        const auto& param = std::get<TensorMapParam>(launch.params[i]);
        if (auto status = encode(api, map_geometry(param, tensors), maps[i]))
            return failure(api,
                           fmt::format("the tensor map of {} of '{}'", title(record, param.tensor),
                                       launch.entry),
                           status);
        params[i] = &maps[i];
    }

    const GridSize grid = grid_size(launch, tensors, entry.capacity);
    cuda::LaunchConfig config;
    config.grid_x = static_cast<unsigned>(grid.x);
    config.grid_y = static_cast<unsigned>(grid.y);
    config.grid_z = static_cast<unsigned>(grid.z);
    config.block_x = launch.block;
    config.shared_bytes = launch.shared_bytes;
    config.stream = stream;
    const Attributes attributes(launch, config);
    if (auto status = api.launch(&config, entry.function, params.data(), nullptr))
        return failure(api, fmt::format("launching '{}'", launch.entry), status);
    return Ok{};
}

Result<std::shared_ptr<Kernel::State>> Kernel::load_on(int ordinal, std::string_view cubin,
                                                       LaunchRecord record) {
    const cuda::Api& api = *cuda::api();
    auto gpu = device_info(ordinal);
    if (!gpu) return gpu.error();
    if (gpu->arch != record.arch)
        return Error{fmt::format("'{}' was compiled for {}, but this GPU ({}) is {}", record.kernel,
                                 record.arch, gpu->name, gpu->arch),
                     "Realize the kernel for this GPU."};
    const RelaxedCapture relaxed(api);
    cuda::Context context = nullptr;
    // The ordinal of a device is also its handle.
    if (auto status = api.primary_retain(&context, ordinal))
        return failure(api, "cuDevicePrimaryCtxRetain", status);
    const CurrentContext current(api, context);
    if (current.status()) return failure(api, "cuCtxSetCurrent", current.status());
    auto state = std::make_shared<State>(State{api, std::move(record), context, nullptr, {}});
    state->identity = identity_of(cubin, state->record);
    if (auto status = api.module_load(&state->module, cubin.data()))
        return failure(api, fmt::format("loading the cubin of '{}'", state->record.kernel), status);
    for (const auto& launch : state->record.launches) {
        auto entry = state->configure(launch, gpu->num_sms);
        if (!entry) return entry.error();
        state->entries.push_back(*entry);
    }
    return state;
}

namespace {

Result<> check_loadable(const LaunchRecord& record) {
    if (std::string why = inconsistency(record); !why.empty())
        return Error{fmt::format("the launch record of '{}' is damaged: {}", record.kernel, why),
                     "Realize the kernel again."};
    if (const auto& loaded = cuda::api(); !loaded) return loaded.error();
    return Ok{};
}

}  // namespace

Result<Kernel> Kernel::load(std::string_view cubin, LaunchRecord record) {
    if (auto ok = check_loadable(record); !ok) return ok.error();
    cuda::Device device = 0;
    if (auto context = primary_context(*cuda::api(), device); !context) return context.error();
    auto state = load_on(device, cubin, std::move(record));
    if (!state) return state.error();
    Kernel kernel;
    kernel.state_ = std::move(*state);
    return kernel;
}

Result<Kernel> Kernel::load_for_good(std::string_view cubin, LaunchRecord record, int ordinal) {
    if (auto ok = check_loadable(record); !ok) return ok.error();
    static std::mutex mutex;
    // Not destroyed at exit: the GPU context may be gone by then.
    static auto& all = *new std::map<std::pair<int, std::string>, std::shared_ptr<State>>;
    const std::lock_guard lock(mutex);
    auto& loaded = all[{ordinal, identity_of(cubin, record)}];
    if (!loaded) {
        auto state = load_on(ordinal, cubin, std::move(record));
        if (!state) return state.error();
        loaded = std::move(*state);
    }
    Kernel kernel;
    kernel.state_ = loaded;
    return kernel;
}

std::string Kernel::identity_of(std::string_view cubin, const LaunchRecord& record) {
    return short_hash(std::string(cubin) + to_json(record));
}

const LaunchRecord& Kernel::record() const {
    return state_->record;
}

const std::string& Kernel::identity() const {
    return state_->identity;
}

std::string Kernel::why_refused(std::span<const TensorArg> tensors) const {
    return gpu::why_refused(state_->record, tensors);
}

std::vector<TensorArg> Kernel::workspaces(std::span<const TensorArg> tensors) const {
    return gpu::workspaces(state_->record, tensors);
}

Result<> Kernel::launch(std::span<const TensorArg> given,
                        std::span<const std::vector<int>> prepared, Stream stream) const {
    if (static_cast<int>(given.size()) != state_->record.num_tensors())
        throw InternalError("Kernel::launch: a tensor is missing");
    std::vector<TensorArg> viewed;  // most kernels have no views, and are launched without a copy
    std::span<const TensorArg> tensors = given;
    if (!state_->record.views.empty()) tensors = viewed = with_views(state_->record, given);
    CurrentContext current(state_->api, state_->context);
    if (current.status()) return failure(state_->api, "cuCtxSetCurrent", current.status());
    for (std::size_t i = 0; i < state_->record.launches.size(); ++i) {
        const Launch& launch = state_->record.launches[i];
        if (!launch.prepares_from.empty() &&
            std::find(prepared.begin(), prepared.end(), launch.prepares_from) != prepared.end())
            continue;
        auto done = state_->launch_one(launch, state_->entries[i], tensors, stream);
        if (!done) return done.error();
        if (observer) observer(launch);
    }
    return Ok{};
}

LaunchObserver::LaunchObserver(std::function<void(const Launch&)> launched) {
    if (observer) throw InternalError("LaunchObserver: there is one already");
    observer = std::move(launched);
}

LaunchObserver::~LaunchObserver() {
    observer = nullptr;
}

}  // namespace fact::gpu

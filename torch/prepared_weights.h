// Workspaces that a kernel fills from a weight (split, transposed) and that stay valid until the
// weight changes.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "target/launch_record.h"

namespace fact::exec {

// For each parameter that some launch only prepares from: the workspaces those launches write,
// as numbers among the record's workspaces.
std::map<int, std::vector<int>> prepared_workspaces(const LaunchRecord& record);

// One weight's workspaces, kept until the weight is another one or torch counts a change of it
// (changes through `.data` are not counted).
class PreparedWeights {
  public:
    using Workspaces = std::vector<at::Tensor>;

    // What was kept for this parameter; nothing when the weight is another one or has changed.
    // `capturing`: a CUDA graph will go on using the memory, so it is never given back.
    std::optional<Workspaces> find(int param, const at::Tensor& weight, bool capturing);
    void keep(int param, const at::Tensor& weight, Workspaces workspaces);

    // Whether a change of the tensor can be seen (inference tensors do not count theirs).
    static bool can_watch(const at::Tensor& weight);

  private:
    struct Entry {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // another tensor may get the address
        const void* data;
        std::uint32_t version;
        std::vector<std::int64_t> strides;
        Workspaces workspaces;
    };
    std::mutex mutex_;
    std::map<int, Entry> entries_;
    std::vector<Workspaces> pinned_;
};

}  // namespace fact::exec

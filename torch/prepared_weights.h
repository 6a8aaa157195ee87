// Workspaces that a kernel fills from weights alone (split, transposed, scaled by another one) and
// that stay valid until one of them changes.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "target/launch_record.h"

namespace fact::exec {

using ParamSet = std::vector<int>;  // of a launch: prepares_from

// The workspaces of launches that prepare from the same parameters, as numbers among the record's.
struct PreparedWorkspaces {
    std::vector<int> kept;     // other launches look at them, too
    std::vector<int> passing;  // needed only while those launches run
};
std::map<ParamSet, PreparedWorkspaces> prepared_workspaces(const LaunchRecord& record);

// The workspaces of sets of weights, kept until one of the set is another one or torch counts a
// change of it (changes through `.data` are not counted).
class PreparedWeights {
  public:
    using Tensors = std::vector<at::Tensor>;

    // What was kept for these parameters; nothing when a weight is another one or has changed.
    // `capturing`: a CUDA graph will go on using the memory, so it is never given back.
    std::optional<Tensors> find(const ParamSet& params, const Tensors& weights, bool capturing);
    void keep(const ParamSet& params, const Tensors& weights, Tensors workspaces);

    // Whether changes of the tensors can be seen (inference tensors do not count theirs).
    static bool can_watch(const Tensors& weights);

  private:
    // A weight as it was.
    struct Seen {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // another tensor may get the address
        const void* data;
        std::uint32_t version;
        std::vector<std::int64_t> strides;
        bool is(const at::Tensor& weight) const;
    };
    struct Entry {
        std::vector<Seen> weights;
        Tensors workspaces;
    };
    std::mutex mutex_;
    std::map<ParamSet, Entry> entries_;
    std::vector<Tensors> pinned_;
};

}  // namespace fact::exec

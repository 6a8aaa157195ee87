// What is made of weights alone (split, transposed, scaled by another one, laid behind one another)
// and stays valid until one of them changes.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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

// A weight as it was.
struct SeenWeight {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // another tensor may get the address
    const void* data;
    std::uint32_t version;
    c10::ScalarType dtype;
    std::vector<std::int64_t> sizes, strides;
    bool is(const at::Tensor& weight) const;
};
using SeenWeights = std::vector<SeenWeight>;
SeenWeights seen(const std::vector<at::Tensor>& weights);

// The workspaces of sets of weights, kept until one of the set is another one or torch counts a
// change of it (changes through `.data` are not counted). Kernels that make the same of the same
// weights share them, such as those of several packages of one module.
class PreparedWeights {
  public:
    using Tensors = std::vector<at::Tensor>;

    // `maker` tells what is made of the weights.
    explicit PreparedWeights(std::string maker) : maker_(std::move(maker)) {}

    // What was kept for these parameters; nothing when a weight is another one or has changed.
    // `capturing`: a CUDA graph will go on using the memory, so it is never given back.
    std::optional<Tensors> find(const ParamSet& params, const Tensors& weights, bool capturing);
    // `weights` as they were before the workspaces were made.
    void keep(const ParamSet& params, SeenWeights weights, Tensors workspaces);

    // Whether changes of the tensors can be seen (inference tensors do not count theirs).
    static bool can_watch(const Tensors& weights);

  private:
    struct Entry {
        SeenWeights weights;
        std::shared_ptr<const Tensors> workspaces;
    };
    std::string maker_;
    std::mutex mutex_;
    std::map<ParamSet, Entry> entries_;
    std::vector<std::shared_ptr<const Tensors>> pinned_;
};

}  // namespace fact::exec

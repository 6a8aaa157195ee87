// What is prepared from weights alone (split, transposed, scaled by another one, concatenated) and
// stays valid until one of them changes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "target/launch_record.h"
#include "torch/seen_tensor.h"

namespace fact::exec {

using ParamSet = std::vector<int>;  // numbers of parameters, as in Launch::prepares_from

// The workspaces of launches that prepare from the same parameters, by their numbers in the record.
struct PreparedWorkspaces {
    std::vector<int> kept;       // other launches read them too
    std::vector<int> temporary;  // needed only while those launches run
};
std::map<ParamSet, PreparedWorkspaces> prepared_workspaces(const LaunchRecord& record);

using SeenWeights = std::vector<SeenTensor>;
// The weights as they are now, to tell later whether they have changed.
SeenWeights seen(const std::vector<at::Tensor>& weights);

// The launch that is about to read what was prepared.
struct Reader {
    // A CUDA graph is being captured, which will read the memory whenever it is replayed.
    bool capturing = false;
    // The stream that reads; memory that is freed is not reused before that stream is done with it.
    std::optional<c10::Stream> stream = {};
};

// The workspaces of sets of weights, each kept until one of its weights is gone, or torch counts a
// change of one (for changes that torch does not count there is forget()). Kernels that prepare the
// same from the same weights share them, such as those of several packages of one module. Safe on
// any thread.
//
// Memory that a CUDA graph was captured with is never replaced: it lives as long as the weights,
// and if they change, it is filled again in place.
class PreparedWeights {
  public:
    using Tensors = std::vector<at::Tensor>;

    // `maker` identifies what prepares the workspaces, such as a kernel by its identity.
    explicit PreparedWeights(std::string maker) : maker_(std::move(maker)) {}
    ~PreparedWeights();

    // What was prepared from these weights; nothing if they have changed since.
    std::optional<Tensors> find(const ParamSet& params, const Tensors& weights,
                                const Reader& reader);
    // The memory that has to be filled again in place because a CUDA graph reads it, if any.
    std::optional<Tensors> captured(const ParamSet& params, const Tensors& weights);
    // `weights` as they were before the workspaces were filled.
    void keep(const ParamSet& params, SeenWeights weights, Tensors workspaces);
    // Everything is prepared again when it is next needed.
    void forget();

    // Locked from the start of a preparation until keep(): two would write to the same memory.
    static std::mutex& preparation_mutex();

    // Whether torch counts changes of the tensors (it does not for inference tensors).
    static bool can_watch(const Tensors& weights);

    struct Set;

  private:
    void hold(const ParamSet& params, std::shared_ptr<Set> set);

    std::string maker_;
    std::map<ParamSet, std::vector<std::shared_ptr<Set>>> held_;  // guarded by the table's mutex
};

}  // namespace fact::exec

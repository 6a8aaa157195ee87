// What is made of weights alone (split, transposed, scaled by another one, laid behind one another)
// and stays valid until one of them changes.
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

using ParamSet = std::vector<int>;  // of a launch: prepares_from

// The workspaces of launches that prepare from the same parameters, as numbers among the record's.
struct PreparedWorkspaces {
    std::vector<int> kept;     // other launches look at them, too
    std::vector<int> passing;  // needed only while those launches run
};
std::map<ParamSet, PreparedWorkspaces> prepared_workspaces(const LaunchRecord& record);

using SeenWeights = std::vector<SeenTensor>;
SeenWeights seen(const std::vector<at::Tensor>& weights);

// Who is about to read what was prepared.
struct Reader {
    // A CUDA graph is being captured: it goes on reading the memory, for as long as it likes.
    bool capturing = false;
    // Where on the GPU; memory that is given up is not used again before it is done there.
    std::optional<c10::Stream> stream = {};
};

// The workspaces of sets of weights, each kept until one of its weights is gone, or torch counts a
// change of one (what torch does not count: forget()). Kernels that make the same of the same
// weights share them, such as those of several packages of one module. Safe on any thread.
//
// Memory that a CUDA graph was captured with is never replaced: it lives as long as the weights,
// whoever else is gone, and what is made of changed weights is made in it again.
class PreparedWeights {
  public:
    using Tensors = std::vector<at::Tensor>;

    // `maker` tells what is made of the weights.
    explicit PreparedWeights(std::string maker) : maker_(std::move(maker)) {}
    ~PreparedWeights();

    // What was made of these weights as they are now.
    std::optional<Tensors> find(const ParamSet& params, const Tensors& weights,
                                const Reader& reader);
    // The memory it has to be made in again, where a CUDA graph reads it.
    std::optional<Tensors> captured(const ParamSet& params, const Tensors& weights);
    // `weights` as they were before the workspaces were made.
    void keep(const ParamSet& params, SeenWeights weights, Tensors workspaces);
    // All of it is made anew when it is needed next.
    void forget();

    // Held by whoever makes something, until it is kept: two would write to the same memory.
    static std::mutex& one_at_a_time();

    // Whether changes of the tensors can be seen (inference tensors do not count theirs).
    static bool can_watch(const Tensors& weights);

    struct Set;

  private:
    void hold(const ParamSet& params, std::shared_ptr<Set> set);

    std::string maker_;
    std::map<ParamSet, std::vector<std::shared_ptr<Set>>> held_;  // guarded by the table's mutex
};

}  // namespace fact::exec

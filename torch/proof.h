// The steps by which a kernel is proven, as docs/verification.md describes them. Each launches the
// kernel on memory prepared to show one kind of fault, on a GPU or on CPU tensors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "torch/fused_kernel.h"
#include "torch/guarded_buffers.h"
#include "torch/oracle.h"
#include "verify/finding.h"

namespace fact::exec {

// Launches a kernel on the current stream; an Error says why it cannot take these tensors. Without
// a `workspace` the kernel gets its scratch memory as in production.
using LaunchKernel = std::function<Result<>(const Tensors& inputs, const Tensors& outputs,
                                            const WorkspaceSource& workspace)>;

// All cases are shown to the kernel at the same addresses, each overwriting the previous one: what
// a kernel remembers of one case is wrong for the next.
class ProofBench {
  public:
    // `oracle` must outlive it.
    ProofBench(const Oracle& oracle, LaunchKernel launch, c10::Device device);

    // Compares the results with the oracle, starting from poisoned outputs and workspaces; nothing
    // outside the buffers and no input may change. The first case becomes the reference of the
    // steps below.
    Result<verify::Verdict> check(const Case& drawn);

    // Checks that no bit of the result depends on the previous contents of outputs and workspaces.
    Result<verify::Verdict> check_independence();
    // Checks the same for repeated launches without a pause, and for launches of another case on
    // another stream at the same time.
    Result<verify::Verdict> check_repeats();
    // Checks the same for other addresses.
    Result<verify::Verdict> check_elsewhere();

    // For timing: timed_inputs() are the reference's inputs, which the baseline gets as well.
    // disturb() overwrites a few elements of the outputs, which every launch has to write again;
    // check_timed() says whether the last launch did.
    Tensors timed_inputs();
    Result<> launch_timed();
    void disturb();
    verify::Verdict check_timed();

    const std::vector<verify::Check>& checks() const { return checks_; }

  private:
    using Guarded = std::vector<GuardedTensor>;
    // What outputs and workspaces hold before a launch.
    struct Contents {
        enum class Output { poison, zeros, small, stale } output = Output::poison;
        std::uint8_t workspace = 0xFF;  // every byte
    };

    static Tensors tensors(const Guarded& guarded);
    static Guarded guarded(const Tensors& inputs);
    Guarded make_outputs() const;
    void prepare(Guarded& outputs, Contents::Output contents) const;
    Result<> launch(const Guarded& inputs, Guarded& outputs, const Contents& contents);
    // Whether memory around the buffers, or an input, has changed.
    verify::Verdict check_surroundings(const Guarded& inputs, const Guarded& outputs) const;
    bool same(const Guarded& outputs, const std::vector<at::Tensor>& bits) const;
    std::vector<at::Tensor> copy_bits(const Guarded& outputs) const;
    verify::Verdict judge(const Case& drawn, const Guarded& outputs, verify::Check& check) const;
    Result<std::int64_t> count_unwritten();
    Result<verify::Verdict> diagnose(const Case& drawn, verify::Verdict found);
    Result<verify::Verdict> launch_many(bool two_streams);
    void show(const Case& drawn);  // copies the case's inputs to inputs_

    const Oracle& oracle_;
    LaunchKernel launch_;
    c10::Device device_;
    Guarded inputs_;
    Guarded outputs_;
    std::vector<Guarded> more_outputs_;      // of repeated launches
    std::vector<GuardedTensor> workspaces_;  // of the last launch
    const Case* shown_ = nullptr;            // whose inputs are in inputs_
    const Case* first_ = nullptr;            // the first case that passed
    std::vector<at::Tensor> reference_;      // bits of the first case's results
    const Case* second_ = nullptr;           // the second one
    std::vector<at::Tensor> second_reference_;
    std::vector<verify::Check> checks_;
    int disturbed_ = 0;  // calls of disturb()
};

}  // namespace fact::exec

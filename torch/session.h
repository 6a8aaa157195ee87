// One fused call as the worker holds it: what it must compute, and the kernel text that claims to.
#pragma once

#include <memory>
#include <optional>

#include "torch/fused_kernel.h"
#include "torch/oracle.h"
#include "torch/precision.h"
#include "torch/proof.h"
#include "verify/protocol.h"

namespace fact::exec {

class Session {
  public:
    // Reads the call and the kernel text. On the CPU the call shrinks to extents that the
    // interpreter can handle; on a GPU only the check of the text uses such.
    static Result<Session> open(const verify::OpenRequest& request, verify::OpenReply& reply);

    // Proves and times a compiled kernel as docs/verification.md says; on the CPU the interpreter
    // stands in for it, and nothing is timed. Throws what torch throws when the GPU fails.
    verify::CandidateReply measure(const verify::CandidateRequest& request);

  private:
    // The call over other extents; those that torch objects to are left out.
    struct OtherSizes {
        graph::FusedCall call;
        std::string note;
        Oracle oracle;
        std::vector<Case> cases;
    };
    // The kernel as it is launched for a call with the same text and perhaps other extents.
    using KernelFor = std::function<Result<LaunchKernel>(const graph::FusedCall& call)>;

    Session() = default;
    verify::CandidateReply measure_launched(const verify::CandidateRequest& request,
                                            const KernelFor& kernel_for);
    Result<verify::Verdict> prove_before(ProofBench& bench, verify::Proof proof);
    Result<verify::Verdict> prove_after(ProofBench& bench, verify::Proof proof);
    Result<verify::Verdict> prove_other_sizes(const KernelFor& kernel_for, std::string& note);
    const std::vector<OtherSizes>& other_sizes();
    bool text_holds(const OtherSizes& other) const;
    void time(ProofBench& bench, const verify::CandidateRequest& request,
              verify::CandidateReply& reply);

    verify::OpenRequest request_;
    graph::FusedCall call_;
    ir::Kernel text_;
    c10::Device device_ = c10::kCPU;
    TorchPrecision reference_;             // what everything but the timing runs under
    std::shared_ptr<const void> mapping_;  // of the buffers the oracle reads
    std::map<std::string, graph::Weight> buffers_;
    std::optional<Oracle> oracle_;
    std::vector<Case> cases_;
    // Made when first needed, and the same for every candidate.
    std::optional<Case> fresh_, touched_;
    std::optional<std::vector<OtherSizes>> other_sizes_;
};

}  // namespace fact::exec

// The fused call that a worker has open: what it must compute, and the kernel text that claims to
// compute it.
// open() is in session.cpp, everything else in measure.cpp.
#pragma once

#include <memory>
#include <optional>

#include "torch/fused_kernel.h"
#include "torch/oracle.h"
#include "torch/precision.h"
#include "torch/proof.h"
#include "torch/turns.h"
#include "verify/protocol.h"

namespace fact::exec {

class Session {
  public:
    // Reads the call and the kernel text. On the CPU the call is shrunk to extents that the
    // interpreter can handle; on a GPU, only the check of the text uses shrunk extents.
    // `take_turn` is called while nothing runs there, now and in measure().
    static Result<Session> open(const verify::OpenRequest& request, const Turns::Take& take_turn,
                                verify::OpenReply& reply);

    // Proves and times a compiled kernel as docs/verification.md says. On the CPU the interpreter
    // takes its place, and nothing is timed. Throws what torch throws if the GPU fails.
    verify::CandidateReply measure(const verify::CandidateRequest& request);

  private:
    // The call with other extents, which torch accepts.
    struct OtherSizes {
        graph::FusedCall call;
        std::string note;  // which extents changed
        Oracle oracle;
        std::vector<Case> cases;
    };
    // Gives the launch of the kernel for a call with the same text and perhaps other extents.
    using KernelFor = std::function<Result<LaunchKernel>(const graph::FusedCall& call)>;

    Session() = default;
    verify::CandidateReply measure_launched(const verify::CandidateRequest& request,
                                            const KernelFor& kernel_for);
    Result<verify::Verdict> check_cases(ProofBench& bench, const std::vector<Case>& cases) const;
    Result<verify::Verdict> prove_before_timing(ProofBench& bench, verify::Proof proof);
    Result<verify::Verdict> prove_after_timing(ProofBench& bench, verify::Proof proof);
    Result<verify::Verdict> prove_other_sizes(const KernelFor& kernel_for, std::string& note);
    const std::vector<OtherSizes>& other_sizes();
    bool text_holds(const OtherSizes& other) const;
    void time(ProofBench& bench, const verify::CandidateRequest& request,
              verify::CandidateReply& reply);

    verify::OpenRequest request_;
    graph::FusedCall call_;
    ir::Kernel text_;
    c10::Device device_ = c10::kCPU;
    TorchPrecision reference_precision_;   // the settings of everything but the timing
    std::shared_ptr<const void> mapping_;  // the archive's file in memory, where buffers_ are
    std::map<std::string, graph::Weight> buffers_;
    std::shared_ptr<Turns> turns_;
    std::optional<Oracle> oracle_;
    std::vector<Case> cases_;
    // Made when first needed, and the same for every candidate. The first two are shown only after
    // the timing: a kernel that caches results fails there.
    std::optional<Case> fresh_case_, one_row_changed_;
    std::optional<std::vector<OtherSizes>> other_sizes_;
};

}  // namespace fact::exec

// One fused call as the worker holds it: what it must compute, and the kernel text that claims to.
#pragma once

#include "torch/fused_kernel.h"
#include "torch/oracle.h"
#include "verify/protocol.h"

namespace fact::exec {

class Session {
  public:
    // Reads the call and the kernel text; on the CPU, and for the check of the text, over extents
    // small enough for the interpreter.
    static Result<Session> open(const verify::OpenRequest& request, verify::OpenReply& reply);

    // Verifies and times a compiled kernel; on the CPU the interpreter stands in for it. Throws
    // what torch throws when the GPU fails.
    verify::CandidateReply measure(const verify::CandidateRequest& request);

  private:
    Session() = default;
    verify::CandidateReply measure_on_cpu(const verify::CandidateRequest& request);

    verify::OpenRequest request_;
    graph::FusedCall call_;
    ir::Kernel text_;
    c10::Device device_ = c10::kCPU;
    std::shared_ptr<const void> mapping_;  // of the buffers the oracle reads
    std::optional<Oracle> oracle_;
    std::vector<Case> cases_;
};

}  // namespace fact::exec

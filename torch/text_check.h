// Compares a kernel text, interpreted on the CPU, with what torch computes.
#pragma once

#include "torch/fused_kernel.h"
#include "torch/oracle.h"
#include "verify/protocol.h"

namespace fact::exec {

// The most multiplications of a case: the interpreter takes a quarter of a second for them.
inline constexpr double kInterpretedProducts = 5e6;

// One case for each distribution that can show something about the call, with seeds from 1; more
// for an `authored` text, which a model or a person wrote (verify::OpenRequest).
std::vector<Case> draw_cases(const Oracle& oracle, const ir::Kernel& text, bool authored);

// A call with extents the interpreter can handle, with its oracle and cases on the CPU.
struct SmallCall {
    graph::FusedCall call;
    Oracle oracle;
    std::vector<Case> cases;
    std::string note;  // how extents were shrunk
};

struct CheckedText {
    SmallCall small;
    std::vector<verify::Check> checks;
};

// Checks the text with the call's own extents.
Result<CheckedText> check_text(const graph::FusedCall& call, const ir::Kernel& text,
                               const std::map<std::string, graph::Weight>& buffers, bool authored);

// Checks the text with shrunk extents; if torch or the interpreter rejects them, with the call's.
Result<CheckedText> check_text_shrunk(const graph::FusedCall& call, const ir::Kernel& text,
                                      const std::map<std::string, graph::Weight>& buffers,
                                      bool authored);

}  // namespace fact::exec

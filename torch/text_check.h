// A kernel text, interpreted on the CPU, against what torch computes.
#pragma once

#include "torch/fused_kernel.h"
#include "torch/oracle.h"
#include "verify/protocol.h"

namespace fact::exec {

// The interpreter takes a quarter of a second for so many multiplications; each case takes as many.
inline constexpr double kInterpretedProducts = 5e6;

// One case of each distribution that says something of the call, seeds from 1; of an authored text
// (verify::OpenRequest) more.
std::vector<Case> draw_cases(const Oracle& oracle, bool authored);

// A call over extents the interpreter can handle, with its oracle and cases on the CPU.
struct Small {
    graph::FusedCall call;
    Oracle oracle;
    std::vector<Case> cases;
    std::string note;  // how extents were shrunk
};

struct CheckedText {
    Small small;
    std::vector<verify::Check> checks;
};

// Over the call's own extents.
Result<CheckedText> check_text(const graph::FusedCall& call, const ir::Kernel& text,
                               const std::map<std::string, graph::Weight>& buffers, bool authored);

// Over shrunk extents first; when torch or the interpreter objects to them, the traced ones.
Result<CheckedText> check_text_shrunk(const graph::FusedCall& call, const ir::Kernel& text,
                                      const std::map<std::string, graph::Weight>& buffers,
                                      bool authored);

}  // namespace fact::exec

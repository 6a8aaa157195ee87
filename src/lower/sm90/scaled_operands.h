// f32 operands of attention: a separate pass scales them and writes them as f16 before the kernel
// reads them (kernels/sm90/scale_pass.cuh).
#pragma once

#include <string>
#include <vector>

#include "emit/code_writer.h"
#include "target/launch_record.h"

namespace fact::lower::sm90 {

// A parameter of batched matrices, and the roles of its dimensions (kNoDim: none).
struct ScaledOperand {
    int param = 0;
    int rows = 0, features = 0;
    std::vector<int> batch;
    int block_rows = 0;    // how many rows share a factor
    int num_features = 0;  // a constant in the emitted pass
};

// The workspaces of a scaled operand, as tensors of the record.
struct ScaledTensors {
    int rows = 0;            // [batch..., rows, features]
    int factors = 0;         // [batch..., blocks]
    int rank = 0;            // of `rows`
    std::vector<int> batch;  // indices of their batch dimensions; kNoDim: the operand lacks it
};

// Emits one pass for every combination of block_rows and num_features among the operands.
void emit_scale_passes(emit::CodeWriter& out, const std::string& kernel,
                       const std::vector<ScaledOperand>& operands);
// Adds the pass that scales the operand, and its workspaces.
ScaledTensors add_scale_pass(LaunchRecord& record, const ScaledOperand& operand);
// `AttentionFactors` of q, k and v.
StructParam factors_param(const std::vector<ScaledTensors>& operands);

}  // namespace fact::lower::sm90

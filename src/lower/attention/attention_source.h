// The parts of the emitted source that all attention skeletons share.
#pragma once

#include <string>

#include "emit/code_writer.h"
#include "ir/kernel.h"
#include "lower/attention/attention_form.h"

namespace fact::lower {

// Members of `Config`: how scores are computed.
void emit_score_constants(emit::CodeWriter& out, const AttentionForm& form);
// Members of `Config`: which heads share keys.
void emit_head_constants(emit::CodeWriter& out, const AttentionForm& form);
// `struct Bias` and an empty line, if there is a bias.
void emit_bias(emit::CodeWriter& out, const ir::Kernel& kernel, const AttentionForm& form);

// Whether the kernel takes a parameter `bias`, and the argument that the skeleton gets for it.
bool takes_bias(const AttentionForm& form);
std::string bias_argument(const AttentionForm& form);

}  // namespace fact::lower

// What the sources of all attention skeletons say the same way.
#pragma once

#include <string>

#include "emit/code_writer.h"
#include "ir/kernel.h"
#include "lower/attention/attention_form.h"

namespace fact::lower {

// Members of `Config`: what is computed of the scores.
void emit_score_constants(emit::CodeWriter& out, const AttentionForm& form);
// Which heads share keys.
void emit_head_constants(emit::CodeWriter& out, const AttentionForm& form);
// `struct Bias` and a line after it, where there is a bias.
void emit_bias(emit::CodeWriter& out, const ir::Kernel& kernel, const AttentionForm& form);

// Whether the kernel takes a parameter `bias`, and what the skeleton is given for it.
bool takes_bias(const AttentionForm& form);
std::string bias_argument(const AttentionForm& form);

}  // namespace fact::lower

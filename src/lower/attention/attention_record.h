// The parts of launch records that all attention skeletons share.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "lower/attention/attention_form.h"
#include "lower/record/lowered.h"
#include "target/launch_record.h"

namespace fact::lower {

// `AttentionExtents` as the kernels take them.
StructParam attention_extents(const ir::Kernel& kernel, const AttentionForm& form);
// `LogSums`; the form must have log_sums.
StructParam log_sums_param(const AttentionForm& form);
// A grid over tiles of `rows` rows.
PersistentGrid attention_grid(const AttentionForm& form, int rows);
// The alignment that operands of the bias need if they are read in pairs.
std::vector<Alignment> bias_alignments(const ir::Kernel& kernel, const AttentionForm& form);
// Counts that must fit into 32 bits: if a row sees columns on both sides, kernels add its number
// and the window.
std::vector<ExtentField> attention_counts(const AttentionForm& form);
// The extents of the features, which are constants in the emitted kernel.
std::vector<FixedExtent> fixed_features(const AttentionForm& form);

}  // namespace fact::lower

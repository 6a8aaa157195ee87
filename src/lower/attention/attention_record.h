// What the launch records of all attention skeletons say the same way.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "lower/attention/attention_form.h"
#include "lower/record/lowered.h"
#include "target/launch_record.h"

namespace fact::lower {

// `AttentionExtents` as the kernels take them.
StructParam attention_extents(const ir::Kernel& kernel, const AttentionForm& form);
// `LogSums`, where there are any.
StructParam log_sums_param(const AttentionForm& form);
// Tiles of so many rows.
PersistentGrid attention_grid(const AttentionForm& form, int rows);
// What pairs of the bias's operands are aligned to.
std::vector<Alignment> bias_alignments(const ir::Kernel& kernel, const AttentionForm& form);
// A row and a window are added where a row sees as far on either side.
std::vector<ExtentField> attention_counts(const AttentionForm& form);
// Kernels are written for the features they were given.
std::vector<FixedExtent> fixed_features(const AttentionForm& form);

}  // namespace fact::lower

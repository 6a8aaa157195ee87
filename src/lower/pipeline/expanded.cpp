#include "lower/pipeline/expanded.h"

#include <algorithm>
#include <set>

#include "ir/expand.h"
#include "ir/extents.h"
#include "ir/reorderings.h"
#include "lower/pipeline/extract.h"
#include "lower/pipeline/few_terms.h"
#include "lower/pipeline/scaled_numbers.h"
#include "lower/pipeline/single_taps.h"
#include "lower/pipeline/skeletons.h"
#include "lower/pipeline/uses.h"
#include "lower/pipeline/weights_second.h"

namespace fact::lower {

namespace {

// Whether parameters among the operands, and the outputs, are aligned for wide copies. Logarithms
// of sums are stored one by one and need no alignment.
bool aligned(const ir::Kernel& kernel, const std::vector<ir::ExprId>& operands,
             const std::vector<int>& alignment) {
    constexpr int kCopyBytes = 16;
    const auto is_aligned = [&](std::size_t tensor) {
        return tensor >= alignment.size() || alignment[tensor] >= kCopyBytes;
    };
    for (const ir::ExprId id : operands)
        if (const auto* param = std::get_if<ir::Param>(&kernel[id].node);
            param && !is_aligned(param->index))
            return false;
    for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
        const ir::ExprId value = ir::behind_reorderings(kernel, kernel.outputs[i].value);
        if (std::holds_alternative<ir::LogSumExp>(kernel[value].node)) continue;
        if (!is_aligned(kernel.params.size() + i)) return false;
    }
    return true;
}

// The attentions that a skeleton can compute at these extents: those whose stage it can lower.
std::set<ir::ExprId> computed_by_skeleton(const ir::Kernel& kernel, const LowerOptions& options) {
    std::set<ir::ExprId> computed;
    std::vector<std::int64_t> extents = options.extents;
    extents.resize(kernel.dims.size(), ir::kUnknownExtent);
    if (!ir::solve_extents(kernel, extents).empty()) return computed;
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const auto id = static_cast<ir::ExprId>(i);
        const auto* node = std::get_if<ir::Attention>(&kernel[id].node);
        if (!node) continue;
        const auto reads = attention_reads(kernel, *node);
        if (!aligned(kernel, {reads[0], reads[1], reads[2]}, options.alignment)) continue;
        const std::set<ir::ExprId> operands(reads.begin(), reads.end());
        const AttentionEnd end = attention_end(kernel, id);
        std::vector<ir::ExprId> written = log_sums_of(kernel, id);
        // Two outputs would mean two attention kernels, each with the logarithms of sums.
        if (!written.empty() &&
            std::ranges::count(kernel.outputs, end.last, &ir::Output::value) > 1)
            continue;
        written.insert(written.begin(), end.last);
        ir::Kernel part = extract(kernel, written, operands).kernel;
        // The stage rounds the result, which is f32 unless a cast is part of it, when it stores it.
        part.outputs.front().tensor.type.dtype = kernel[node->q].type.dtype;
        if (end.narrow && attention(part, extents, options).ok()) computed.insert(id);
    }
    return computed;
}

// Gives outputs the dimension names of their values, so that no renaming view is needed.
void drop_renamings_of_outputs(ir::Kernel& kernel) {
    for (ir::Output& output : kernel.outputs)
        while (ir::is_renaming(kernel, output.value) && !kernel[output.value].stored) {
            output.value = std::get<ir::View>(kernel[output.value].node).x;
            output.tensor.type.dims = kernel[output.value].type.dims;
        }
}

}  // namespace

Result<Lowered> attention(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents,
                          const LowerOptions& options) {
    return lower_attention(skeletons_of(options.arch, options.tma), kernel, extents, options.arch);
}

std::vector<std::int64_t> known_extents(const ir::Kernel& kernel, const LowerOptions& options) {
    std::vector<std::int64_t> extents = options.extents;
    extents.resize(kernel.dims.size(), ir::kUnknownExtent);
    for (std::size_t d = 0; d < options.assumed.size(); ++d)
        if (options.assumed[d]) extents[d] = ir::kUnknownExtent;
    // Extents that contradict each other are refused later.
    if (!ir::solve_extents(kernel, extents).empty())
        extents.assign(kernel.dims.size(), ir::kUnknownExtent);
    return extents;
}

bool reads_windows(const LowerOptions& options) {
    return std::ranges::any_of(skeletons_of(options.arch, options.tma),
                               [](Skeleton skeleton) { return info(skeleton).windows; });
}

ir::Kernel expanded(ir::Kernel kernel, const LowerOptions& options, FewTerms few_terms) {
    drop_renamings_of_outputs(kernel);
    kernel = ir::share_reorderings(kernel);
    const auto keep = computed_by_skeleton(kernel, options);
    kernel = ir::expand_attention(kernel, [&](ir::ExprId id) { return keep.contains(id); });
    kernel = with_single_taps(kernel);
    kernel = with_sums_of_few_terms(kernel, known_extents(kernel, options),
                                    few_terms == FewTerms::patches);
    if (reads_windows(options)) {
        kernel = with_weights_second(kernel, known_extents(kernel, options));
        kernel = with_scaled_numbers(kernel, known_extents(kernel, options));
    }
    return kernel;
}

}  // namespace fact::lower

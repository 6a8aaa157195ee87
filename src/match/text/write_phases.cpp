// Writes transposed convolutions, as one convolution of step one for all phases of the result
// (graph/phases.h). Functions of KernelWriter (kernel_writer.h).
#include <fmt/format.h>

#include <algorithm>

#include "ir/dims.h"
#include "match/text/kernel_writer.h"

namespace fact::match {

using ir::DimId;
using ir::ExprId;
using Dims = std::vector<DimId>;

// Side operands have the result's dimensions too, so that these are made before parameters are.
std::string KernelWriter::add_phases() {
    for (const auto& [node, windows] : region_.anchor.space.windows()) {
        if (!windows.transposed) continue;
        for (const AxisWindow& window : windows.windows) {
            const auto of = forms_->axis_dim(window.of), result = forms_->axis_dim(window.places);
            if (!of || !result)
                return fmt::format("{} works on windows of a dimension that is split",
                                   graph_[node].name);
            PhaseDims dims;
            dims.rule = graph::phases_of(window.rule, region_.anchor.space.extent(window.of));
            dims.of = *of, dims.result = *result, dims.weight_taps = taps_dim(window);
            if (dims.rule.phases == 1) {
                dims.places = dims.result, dims.taps = dims.weight_taps;
            } else {
                dims.taps = fresh_dim("U", dims.rule.taps);
                dims.places = dims.windowed() ? fresh_dim("I", {}) : dims.of;
                dims.phase = dims.weight_windowed() ? fresh_dim("A", {}) : dims.weight_taps;
                if (dims.rule.apart > 1) dims.apart = fresh_dim("Z", dims.rule.apart);
                extents_[kernel_[dims.places].name] = dims.rule.places;
                extents_[kernel_[dims.phase].name] = dims.rule.phases;
            }
            set_rules(dims);
            phases_[window.places] = dims;
        }
    }
    return "";
}

void KernelWriter::set_rules(const PhaseDims& dims) {
    const graph::Phases& rule = dims.rule;
    if (dims.windowed())
        kernel_.dims[ir::index(dims.places)].window =
            ir::WindowRule{dims.of, dims.taps, 1, rule.dilation, rule.before, rule.after};
    if (rule.phases == 1) return;
    if (dims.weight_windowed()) {
        const DimId filled = rule.apart == 1 ? dims.weight_taps
                                             : kernel_.factored_dim({dims.weight_taps, dims.apart});
        const std::int64_t after = rule.weight_after - (rule.apart - 1);  // zeros of the last tap
        kernel_.dims[ir::index(dims.phase)].window =
            ir::WindowRule{filled, dims.taps, 1, rule.phases, rule.weight_before, after};
    }
    if (!dims.cropped()) {
        kernel_.dims[ir::index(dims.result)].factors = {dims.places, dims.phase};
        return;
    }
    const DimId all = kernel_.factored_dim({dims.places, dims.phase}), single = fresh_dim("E", 1);
    kernel_.dims[ir::index(dims.result)].window =
        ir::WindowRule{all, single, 1, 1, -rule.skipped, -rule.dropped};
}

std::vector<KernelWriter::PhaseDims> KernelWriter::phases_of(const AxisWindows& windows) const {
    std::vector<PhaseDims> all;
    if (windows.transposed)
        for (const AxisWindow& window : windows.windows) all.push_back(phases_.at(window.places));
    return all;
}

Dims KernelWriter::phase_dims(const AxisWindows& windows) const {
    Dims all;
    for (const PhaseDims& dims : phases_of(windows))
        if (dims.rule.phases > 1) all.push_back(dims.phase);
    return all;
}

KernelWriter::OpenWindows KernelWriter::open_phases(const AxisWindows& windows, ExprId x) {
    OpenWindows open;
    Dims single_taps, windowed;
    for (const PhaseDims& dims : phases_of(windows)) {
        open.places.push_back(dims.places);
        if (dims.windowed()) {
            windowed.push_back(dims.places);
            (dims.rule.taps == 1 ? single_taps : open.taps).push_back(dims.taps);
        }
    }
    if (!windowed.empty()) x = build_.window(x, windowed);
    open.x = without(x, single_taps);
    return open;
}

// The weight with zeros between its taps, as many as its dilation says.
ExprId KernelWriter::filled_weight(const AxisWindows& windows, ExprId weight) {
    const DType dtype = kernel_[weight].type.dtype;
    Dims apart, filled;
    for (const DimId dim : kernel_[weight].type.dims) {
        apart.push_back(dim);
        filled.push_back(dim);
        for (const PhaseDims& dims : phases_of(windows))
            if (dims.weight_taps == dim && dims.rule.apart > 1) {
                apart.push_back(dims.apart);
                filled.back() = kernel_.factored_dim({dim, dims.apart});
            }
    }
    if (apart.size() == filled.size()) return weight;
    weight = build_.expand(weight, apart);
    for (const PhaseDims& dims : phases_of(windows))
        if (dims.rule.apart > 1) {
            const ExprId first =
                build_.binary(ir::BinaryOp::lt, build_.index(dims.apart), build_.literal(1));
            weight = build_.select(first, weight, build_.literal(0));
        }
    weight = build_.view(build_.cast(dtype, weight), filled);
    kernel_.exprs[ir::index(weight)].name = unique("filled");
    kernel_.exprs[ir::index(weight)].stored = true;
    return weight;
}

// The weight of each phase: taps `stride` apart, the last one first.
ExprId KernelWriter::phased_weight(const AxisWindows& windows, ExprId weight) {
    weight = filled_weight(windows, weight);
    Dims phases, single_taps, flipped;
    for (const PhaseDims& dims : phases_of(windows)) {
        if (dims.rule.taps > 1) flipped.push_back(dims.taps);
        if (!dims.weight_windowed()) continue;
        phases.push_back(dims.phase);
        if (dims.rule.taps == 1) single_taps.push_back(dims.taps);
    }
    if (!phases.empty()) {
        weight = build_.window(weight, phases);
        kernel_.exprs[ir::index(weight)].name = unique("phases");
        // One kernel does not both see through windows and reverse; both run once.
        kernel_.exprs[ir::index(weight)].stored = !flipped.empty();
    }
    weight = without(weight, single_taps);
    for (const DimId dim : flipped) weight = build_.flip(weight, dim);
    return weight;
}

// The product's result, with each place followed by its phases as one dimension, less the results
// that torch does not have.
ExprId KernelWriter::joined_phases(const AxisWindows& windows, ExprId x) {
    const auto all = phases_of(windows);
    Dims order, merged, cropped, single;
    for (const DimId dim : kernel_[x].type.dims) {
        if (ir::contains(phase_dims(windows), dim)) continue;
        const auto phased = std::ranges::find_if(
            all, [&](const PhaseDims& dims) { return dims.places == dim && dims.rule.phases > 1; });
        order.push_back(dim);
        merged.push_back(dim);
        if (phased == all.end()) continue;
        order.push_back(phased->phase);
        merged.back() = kernel_.factored_dim({dim, phased->phase});
        if (!phased->cropped()) continue;
        cropped.push_back(phased->result);
        single.push_back(kernel_[phased->result].window->taps);
    }
    x = build_.view(build_.permute(x, order), merged);
    return cropped.empty() ? x : without(build_.window(x, cropped), single);
}

}  // namespace fact::match

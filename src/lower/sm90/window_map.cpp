#include "lower/sm90/window_map.h"

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/record/extent_terms.h"
#include "lower/record/record_parts.h"

namespace fact::lower::sm90 {

namespace {

const std::vector<ir::DimId>& image_dims(const ir::Kernel& kernel, const OperandForm& operand) {
    return kernel.params[static_cast<std::size_t>(operand.param)].type.dims;
}

int channel_dim(const ir::Kernel& kernel, const OperandForm& operand) {
    return static_cast<int>(image_dims(kernel, operand).size()) - 1;
}

// The map of rows that overlap, whose batch is the taps of the outer dimensions, then images.
TensorMapParam overlapping_map(const ir::Kernel& kernel, const OperandForm& operand, int places) {
    const auto& dims = image_dims(kernel, operand);
    TensorMapParam map;
    map.tensor = operand.param;
    map.dims = {channel_dim(kernel, operand)};
    for (const ir::DimId dim : operand.windows->places) {
        const ir::WindowRule& rule = *kernel[dim].window;
        map.taps.push_back(static_cast<int>(*ir::constant_extent(kernel, rule.taps)));
        map.dims.push_back(ir::position(dims, rule.of));
    }
    map.dims.push_back(operand.windows->image);
    if (map.dims.size() < 4) map.dims.push_back(kNoDim);  // a batch has at least two dimensions
    const DType dtype = kernel.params[static_cast<std::size_t>(operand.param)].type.dtype;
    map.box.assign(map.dims.size(), 1);
    map.box[0] = static_cast<int>(kLineBytes) / info(dtype).bytes;
    map.box[1] = places;
    return map;
}

}  // namespace

std::optional<TensorMapParam> window_map(const ir::Kernel& kernel, const OperandForm& operand,
                                         int places) {
    if (operand.overlaps()) return overlapping_map(kernel, operand, places);
    const std::vector<ir::DimId>& all = operand.windows->places;
    const std::int64_t reach = WindowReach::reach(all.size());
    const auto& dims = image_dims(kernel, operand);
    TensorMapParam map;
    map.tensor = operand.param;
    map.dims = {channel_dim(kernel, operand)};
    for (const ir::DimId dim : all) {
        const ir::WindowRule& rule = *kernel[dim].window;
        const auto taps = ir::constant_extent(kernel, rule.taps);
        if (!taps) return std::nullopt;
        const std::int64_t last_tap = rule.dilation * (*taps - 1);
        const std::int64_t last = rule.after - last_tap;
        if (rule.stride > WindowReach::kMaxStep || last_tap >= 2 * reach || rule.before > reach ||
            rule.before <= -reach || last < -reach || last >= reach)
            return std::nullopt;
        map.windows.push_back({static_cast<int>(rule.stride), -static_cast<int>(rule.before),
                               static_cast<int>(last)});
        map.dims.push_back(ir::position(dims, rule.of));
    }
    map.dims.push_back(operand.windows->image < 0 ? kNoDim : operand.windows->image);
    const DType dtype = kernel.params[static_cast<std::size_t>(operand.param)].type.dtype;
    map.box = {128 / info(dtype).bytes, places};
    return map;
}

ExtentField depth_of_windows(const ir::Kernel& kernel, const OperandForm& operand, int tile_k) {
    ExtentField depth{{{operand.param, channel_dim(kernel, operand), 0, tile_k}}, tile_k};
    for (const ir::DimId dim : operand.windows->places)
        depth.factor *= static_cast<int>(*ir::constant_extent(kernel, kernel[dim].window->taps));
    return depth;
}

StructParam windows_param(const ir::Kernel& kernel, const OperandForm& operand) {
    StructBuilder windows;
    windows.add(ExtentField{{{operand.param, channel_dim(kernel, operand)}}});
    for (const ir::DimId dim : operand.windows->places) windows.add(extent_of(kernel, {dim}));
    return windows.finish();
}

}  // namespace fact::lower::sm90

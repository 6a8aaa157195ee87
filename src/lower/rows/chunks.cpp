#include "lower/rows/chunks.h"

#include <algorithm>
#include <vector>

#include "ir/extents.h"

namespace fact::lower {

namespace {

// In elements.
constexpr std::int64_t kLongRow = 8192;  // longer rows are split even if they share tensors
constexpr std::int64_t kMinChunk = 256;
// Of the narrowest tensor: a vector of 16 bytes for each of 256 threads.
constexpr std::int64_t kMaxChunkBytes = 4096;

std::int64_t max_chunk(const ir::Kernel& kernel) {
    int narrowest = 4;
    for (const ir::Tensor& param : kernel.params)
        narrowest = std::min(narrowest, info(param.type.dtype).bytes);
    for (const ir::Output& output : kernel.outputs)
        narrowest = std::min(narrowest, info(output.tensor.type.dtype).bytes);
    return kMaxChunkBytes / std::max(narrowest, 2);
}

}  // namespace

std::optional<ir::Kernel> in_chunks(const ir::Kernel& kernel, const RowsForm& form,
                                    const RowsFacts& facts) {
    if (!form.over.empty() || form.rows.empty()) return std::nullopt;
    const ir::DimId dim = form.rows.back();
    std::int64_t length = kernel[dim].extent.value_or(ir::kUnknownExtent);
    if (length == ir::kUnknownExtent && ir::index(dim) < facts.extents.size())
        length = facts.extents[ir::index(dim)];
    for (const ir::Expr& expr : kernel.exprs)
        if (const auto* flip = std::get_if<ir::Flip>(&expr.node); flip && flip->dim == dim)
            return std::nullopt;
    // The only dimension is always split: unsplit, it would be a single row. A tensor that all rows
    // share is found in L1 as long as they are whole.
    const bool shared = std::ranges::any_of(kernel.params, [&](const ir::Tensor& param) {
        return kernel.factors(param.type.dims) == std::vector{dim};
    });
    const std::int64_t longest = form.rows.size() == 1 ? 0 : shared ? kLongRow : max_chunk(kernel);
    if (length <= longest) return std::nullopt;
    std::int64_t chunk = 0;
    // Multiples of 256, a vector of 8 elements for each lane of a warp, or else whole vectors.
    for (const std::int64_t unit : {256, 8})
        for (std::int64_t tried = max_chunk(kernel); tried >= kMinChunk && chunk == 0;
             tried -= unit)
            if (length % tried == 0) chunk = tried;
    if (chunk == 0) return std::nullopt;
    ir::Kernel chunked = kernel;
    const auto new_dim = [&](std::int64_t extent) {
        chunked.dims.push_back({std::to_string(extent), extent});
        return static_cast<ir::DimId>(chunked.dims.size() - 1);
    };
    const ir::DimId outer = new_dim(length / chunk), inner = new_dim(chunk);
    ir::Dim& split = chunked.dims[ir::index(dim)];
    split.extent.reset();
    split.factors = {outer, inner};
    return chunked;
}

}  // namespace fact::lower

#include "wide.h"

#include <algorithm>

#include "gpu/launch_plan.h"

namespace fact::differential {

namespace {

std::size_t row_bytes(const gpu::TensorArg& arg) {
    const auto columns = arg.sizes.empty() ? 1 : arg.sizes.back();
    return static_cast<std::size_t>(columns * info(arg.dtype).bytes);
}

// Where the rows start in the larger tensor, in bytes.
std::vector<std::size_t> row_starts(const gpu::TensorArg& arg, const Pad& pad) {
    std::vector<std::size_t> starts{bytes_before(arg, pad)};
    const auto bytes = static_cast<std::size_t>(info(arg.dtype).bytes);
    for (std::size_t d = 0; d + 1 < arg.sizes.size(); ++d) {
        std::vector<std::size_t> finer;
        for (const std::size_t start : starts)
            for (std::int64_t i = 0; i < arg.sizes[d]; ++i)
                finer.push_back(start + static_cast<std::size_t>(i * arg.strides[d]) * bytes);
        starts = std::move(finer);
    }
    return starts;
}

}  // namespace

gpu::TensorArg in_wider(gpu::TensorArg dense, const Pad& pad) {
    const auto& sizes = dense.sizes;
    std::int64_t stride = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
        dense.strides[d] = stride;
        const std::size_t from_end = sizes.size() - d;
        stride *= sizes[d] + (from_end == 1 ? pad.columns : from_end == 2 ? pad.rows : 0);
    }
    return dense;
}

std::size_t bytes_before(const gpu::TensorArg& arg, const Pad& pad) {
    std::int64_t elements = arg.sizes.empty() ? 0 : pad.columns;
    if (arg.sizes.size() > 1) elements += pad.rows * arg.strides[arg.sizes.size() - 2];
    return static_cast<std::size_t>(elements * info(arg.dtype).bytes);
}

std::size_t wide_bytes(const gpu::TensorArg& arg, const Pad& pad) {
    const auto starts = row_starts(arg, pad);
    return starts.empty() ? 0 : starts.back() + row_bytes(arg) + bytes_before(arg, pad);
}

std::string spread(const gpu::TensorArg& arg, const Pad& pad, const std::string& own, char poison) {
    std::string memory(wide_bytes(arg, pad), poison);
    const std::size_t row = row_bytes(arg);
    std::size_t from = 0;
    for (const std::size_t start : row_starts(arg, pad)) {
        memory.replace(start, row, own, from, row);
        from += row;
    }
    return memory;
}

bool take_own(const gpu::TensorArg& arg, const Pad& pad, const std::string& memory, char poison,
              std::string& own) {
    own.clear();
    bool untouched = true;
    std::size_t end = 0;
    const auto is_poison = [&](std::size_t from, std::size_t to) {
        return std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(from),
                           memory.begin() + static_cast<std::ptrdiff_t>(to),
                           [&](char c) { return c == poison; });
    };
    for (const std::size_t start : row_starts(arg, pad)) {
        untouched = untouched && is_poison(end, start);
        end = start + row_bytes(arg);
        own.append(memory, start, end - start);
    }
    return untouched && is_poison(end, memory.size());
}

bool accepts(const LaunchRecord& record, std::vector<gpu::TensorArg> tensors, const Pad& pad,
             bool outputs) {
    const std::size_t num_params = record.params.size();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if ((i >= num_params) != outputs) continue;
        tensors[i] = in_wider(std::move(tensors[i]), pad);
        tensors[i].data = reinterpret_cast<void*>(bytes_before(tensors[i], pad));
    }
    return gpu::why_refused(record, tensors).empty();
}

}  // namespace fact::differential

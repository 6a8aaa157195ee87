#include "calibrate/probes.h"

#include <fmt/format.h>

#include "support/result.h"

namespace fact::calibrate {

namespace {

// The same constants as in kernels/calibrate.
constexpr int kBlock = 256;
constexpr int kInFlight = 8;  // accesses of a thread at a time
constexpr double kL2Rounds = 64;
constexpr double kFlopsPerItem = 2. * 16 * 512;  // multiply-adds in 16 chains of 512 steps

constexpr int kOneBlock = 1 << 30;  // items per block, so many that there is one block

struct ProbeRow {
    std::string_view file, entry;
    int elements_per_item;  // f32 elements in each item that the kernel counts
    int per_block;          // items per thread block
};

ProbeRow row_of(ProbeKind kind) {
    switch (kind) {
        case ProbeKind::read:
            return {"streams.cu", "read_stream", 4, kBlock * kInFlight};
        case ProbeKind::write:
            return {"streams.cu", "write_stream", 4, kBlock * kInFlight};
        case ProbeKind::copy:
            return {"streams.cu", "copy_stream", 4, kBlock * kInFlight};
        case ProbeKind::l2:
            return {"streams.cu", "read_l2", 4, kBlock};
        case ProbeKind::multiply_add:
            return {"arithmetic.cu", "multiply_add", 1, kBlock};
        case ProbeKind::nothing:
            return {"arithmetic.cu", "nothing", 1, kOneBlock};
        case ProbeKind::hold:
            return {"arithmetic.cu", "hold", 1, kOneBlock};
        case ProbeKind::fill:
            return {"fill.cu", "fill", 1, kBlock};
    }
    throw InternalError("a probe without a row");
}

}  // namespace

Probe probe(ProbeKind kind, std::string_view arch, DType dtype) {
    const ProbeRow row = row_of(kind);
    const bool fill = kind == ProbeKind::fill;
    Probe probe;
    probe.file = row.file;
    probe.entry = fill ? fmt::format("{}_{}", row.entry, info(dtype).name) : std::string(row.entry);
    LaunchRecord& record = probe.record;
    record.kernel = probe.entry;
    record.arch = arch;
    if (!fill) record.params = {{"from", dtype, 1}};
    record.outputs = {{"to", dtype, 1}};
    const ExtentField count{{{0, 0}}, 1, row.elements_per_item};
    StructParam streams;
    int offset = 0;
    for (int tensor = 0; tensor < record.num_bound(); ++tensor, offset += 8)
        streams.members.push_back({offset, PointerField{tensor}});
    streams.members.push_back({offset, count});
    streams.bytes = offset + 8;
    Launch launch;
    launch.entry = probe.entry;
    launch.grid = LinearGrid{count, row.per_block};
    launch.block = row.per_block == kOneBlock ? 1 : kBlock;
    launch.params = {streams};
    record.launches = {launch};
    return probe;
}

std::vector<gpu::TensorArg> arguments(ProbeKind kind, std::int64_t elements, DType dtype) {
    const gpu::TensorArg tensor{nullptr, dtype, {elements}, {1}};
    if (kind == ProbeKind::fill) return {tensor};
    return {tensor, tensor};
}

double bytes_of(ProbeKind kind, std::int64_t elements) {
    const double bytes = 4.0 * static_cast<double>(elements);
    switch (kind) {
        case ProbeKind::read:
        case ProbeKind::write:
            return bytes;
        case ProbeKind::copy:
            return 2 * bytes;
        case ProbeKind::l2:
            return kL2Rounds * bytes;
        case ProbeKind::multiply_add:
        case ProbeKind::nothing:
        case ProbeKind::hold:
        case ProbeKind::fill:
            return 0;
    }
    throw InternalError("a probe that moves an unknown number of bytes");
}

double flops_of(ProbeKind kind, std::int64_t elements) {
    return kind == ProbeKind::multiply_add ? kFlopsPerItem * static_cast<double>(elements) : 0;
}

}  // namespace fact::calibrate

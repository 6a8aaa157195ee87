// How a compiled kernel is launched: everything the launcher needs, so that no kernel has host code
// of its own. Written by lower/, stored as JSON beside the cubin, read by gpu/.
//
// A call binds `tensors`: first the kernel's parameters in order, then its outputs, then the
// workspaces and the views named here. A tensor's dimensions are those of the kernel text, in
// memory order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/division.h"
#include "support/result.h"
#include "target/dtype.h"

namespace fact {

inline constexpr int kNoDim = -1;  // stands for a dimension that the tensor does not have

// The largest number that kernels count to in 32 bits, with room for a tile that crosses the edge.
inline constexpr std::int64_t kMaxCount = (std::int64_t{1} << 31) - (1 << 16);

// The extent of a bound tensor's dimension, or how many windows fit into it or a multiple of it:
// ceil((extent * times + more) / step).
struct DimOf {
    int tensor = 0, dim = 0;
    int more = 0, step = 1, times = 1;
    bool operator==(const DimOf&) const = default;

    bool is_plain() const { return more == 0 && step == 1 && times == 1; }
    std::int64_t of(std::int64_t extent) const {
        return is_plain() ? extent
                          : std::max<std::int64_t>(0, ceil_div(extent * times + more, step));
    }
};

// How far windows reach along one dimension of a tensor: the first window begins at element
// `first`, the last at most `last` elements after the dimension's last element.
struct WindowReach {
    int step = 1, first = 0, last = 0;
    bool operator==(const WindowReach&) const = default;

    // The hardware's limits. The more dimensions have windows, the less far these reach: `first`
    // and `last` are at least -reach(dims) and below it, a window is shorter than twice that.
    static constexpr int kMaxStep = 8;
    static constexpr int reach(std::size_t dims) {
        return dims == 1 ? 1 << 15 : dims == 2 ? 1 << 7 : 1 << 4;
    }
};

// A CUtensorMap over one tensor, innermost dimension first; kNoDim means an extent of one. `box` is
// the extents of the part that one copy moves.
//
// With `taps`, windows of so many elements slide over dimensions 1, 2, ... of the map, which are an
// image's, the innermost first, and contiguous. Then a row of the map is all taps along dimension 1
// with dimension 0; the next row begins one element later, and rows run on over the whole image,
// until the last one that is inside of it; the other dimensions are `taps` long.
//
// With `windows`, the map is for TMA's im2col mode: its dimensions are channels, one for each of
// `windows`, and images; the box is a number of channels and a number of windows.
struct TensorMapParam {
    static constexpr std::size_t kMaxDims = 5;  // limit of the hardware
    int tensor = 0;
    std::vector<int> dims, box;
    int swizzle_bytes = 128;
    std::vector<WindowReach> windows = {};
    std::vector<int> taps = {};
    bool operator==(const TensorMapParam&) const = default;
};

// One field of a plain struct parameter.
struct PointerField {
    int tensor = 0;
    bool operator==(const PointerField&) const = default;
};
// As int32: ceil(dims * factor / (divisor * divisor_dims)), where `dims` and `divisor_dims` are the
// products of their extents.
struct ExtentField {
    std::vector<DimOf> dims;
    int factor = 1, divisor = 1;
    std::vector<DimOf> divisor_dims = {};
    bool operator==(const ExtentField&) const = default;
};
struct StrideField {  // stride in elements, as int64; kNoDim gives 0
    int tensor = 0, dim = kNoDim;
    bool operator==(const StrideField&) const = default;
};
struct TokenField {  // a number that no other launch gets, as int64
    bool operator==(const TokenField&) const = default;
};
using Field = std::variant<PointerField, ExtentField, StrideField, TokenField>;
// The size of a field, which is also its alignment.
inline int bytes_of(const Field& field) {
    return std::visit(
        overloaded{
            [](const ExtentField&) { return 4; },
            [](const one_of<PointerField, StrideField, TokenField> auto&) { return 8; },
        },
        field);
}

struct StructParam {
    struct Member {
        int offset = 0;  // bytes from the start of the struct
        Field field;
        bool operator==(const Member&) const = default;
    };
    int bytes = 0;
    std::vector<Member> members;
    bool operator==(const StructParam&) const = default;
};

using KernelParam = std::variant<TensorMapParam, StructParam>;

// One cluster per tile (tile_m * cluster_m rows by tile_n * cluster_n columns), at most as many as
// fit on the GPU at a time: the kernel itself goes on to the remaining tiles. If the kernel cuts
// tiles along K (tile_k is not 0), up to one cluster per k-tile. Never more than `max_blocks`
// thread blocks (0: no limit), since the workspaces have room for no more.
struct PersistentGrid {
    std::vector<DimOf> m, n, batch;  // each is the product of these extents
    int tile_m = 1, tile_n = 1;
    std::vector<DimOf> k = {};
    int tile_k = 0;
    int max_blocks = 0;
    bool operator==(const PersistentGrid&) const = default;
};
// Enough thread blocks for `count` elements at `per_block` each, in whole clusters, but at most
// `waves` times what fits on the GPU at a time (0: no limit): the kernel itself goes on to the
// remaining elements.
struct LinearGrid {
    ExtentField count;
    int per_block = 1;
    int waves = 1;
    bool operator==(const LinearGrid&) const = default;
};
inline constexpr int kMaxGridDepth = 65535;  // CUDA's limit of a grid's y and z
// One thread block per tile of a matrix, for transposing passes: x = ceil(n / tile_n), y = ceil(m /
// tile_m), z = batch, but at most `max_z` (0: no limit): the kernel itself goes on to the batches
// after that.
struct TileGrid {
    std::vector<DimOf> m, n, batch;
    int tile_m = 1, tile_n = 1;
    int max_z = 0;
    bool operator==(const TileGrid&) const = default;
};
using Grid = std::variant<PersistentGrid, LinearGrid, TileGrid>;

struct Launch {
    std::string entry;  // extern "C" name in the cubin
    Grid grid;
    int block = 0;                     // threads per thread block
    std::array<int, 2> cluster{1, 1};  // m, n; launched as (m * n, 1, 1)
    int shared_bytes = 0;
    std::vector<KernelParam> params;
    // If this launch writes only workspaces: the parameters, in ascending order, that determine
    // what it writes; else empty. If all of them are constants (weights), the launcher may run it
    // once and keep the workspaces.
    std::vector<int> prepares_from = {};
    // The kernel itself waits for the previous launch, so that it may start before that has ended.
    bool waits = false;
    bool operator==(const Launch&) const = default;
};

// Contiguous scratch memory of a call, with extents computed from those of bound tensors.
struct Workspace {
    DType dtype = DType::f32;
    std::vector<ExtentField> sizes;  // one per dimension
    int copies = 1;                  // if above 1, a leading dimension before `sizes`
    bool operator==(const Workspace&) const = default;
};

// Another tensor of the call with runs of its dimensions merged, `runs` being their lengths: the
// tensor must be contiguous across each.
struct MergedView {
    int tensor = 0;
    std::vector<int> runs;
    bool operator==(const MergedView&) const = default;
};

struct TensorSpec {
    std::string name;
    DType dtype = DType::f32;
    int rank = 0;
    std::string origin = {};  // its line of kernel text, "mlp.fact:1"; "" if unknown
    bool operator==(const TensorSpec&) const = default;
};

// The address, the length of a row and every stride between rows must be a multiple of `bytes`. A
// row is the last `row_dims` dimensions, which are contiguous together.
struct Alignment {
    int tensor = 0, bytes = 1, row_dims = 1;
    bool operator==(const Alignment&) const = default;
};

// `of` must be equal to `extent`, or a multiple of it.
struct ExtentRule {
    ExtentField of;  // usually a single dimension
    ExtentField extent;
    bool multiple = false;
    bool operator==(const ExtentRule&) const = default;
};

struct LaunchRecord {
    std::string kernel;  // name in the kernel text
    std::string arch;    // "sm90a"
    std::string schedule;
    std::string precision;  // of its arithmetic, for the report: "bf16", "f16x3", ...
    std::vector<TensorSpec> params, outputs;
    std::vector<std::vector<DimOf>> equal_extents;  // in each group, extents must agree
    std::vector<ExtentRule> extent_rules;           // constant extents and factored dimensions
    std::vector<Alignment> alignments;              // beyond what tensor maps require
    std::vector<ExtentField> counts;  // numbers, besides extents, that kernels count to in 32 bits
    std::vector<Workspace> workspaces;
    std::vector<MergedView> views = {};  // numbered after the workspaces
    std::vector<Launch> launches;
    bool operator==(const LaunchRecord&) const = default;

    // Parameters and outputs: what a caller binds.
    int num_bound() const { return static_cast<int>(params.size() + outputs.size()); }
    const TensorSpec& spec(int bound) const {
        const std::size_t index = static_cast<std::size_t>(bound);
        return index < params.size() ? params[index] : outputs[index - params.size()];
    }
    int num_tensors() const {  // without views
        return static_cast<int>(params.size() + outputs.size() + workspaces.size());
    }
    // The tensor with this number, or the one that the view with this number shows.
    int behind_view(int number) const {
        return number < num_tensors()
                   ? number
                   : views[static_cast<std::size_t>(number - num_tensors())].tensor;
    }
};

// Calls visit(number) for every tensor whose memory the launch reads or writes; for a tensor that
// several parameters refer to, more than once.
template <class Visit>
void for_each_tensor(const LaunchRecord& record, const Launch& launch, Visit visit) {
    const auto visit_behind = [&](int number) { visit(record.behind_view(number)); };
    for (const auto& param : launch.params) {
        std::visit(
            overloaded{
                [&](const TensorMapParam& map) { visit_behind(map.tensor); },
                [&](const StructParam& plain) {
                    for (const auto& member : plain.members)
                        std::visit(
                            overloaded{
                                [&](const PointerField& pointer) { visit_behind(pointer.tensor); },
                                [](const one_of<ExtentField, StrideField, TokenField> auto&) {}},
                            member.field);
                }},
            param);
    }
}

nlohmann::ordered_json json_of(const LaunchRecord& record);
std::string to_json(const LaunchRecord& record);
// An Error if the text is not a record, or inconsistency() finds a problem.
Result<LaunchRecord> launch_record_from_json(std::string_view text);
// Says which index, size or tensor of the record is the first out of range; "" if none is.
std::string inconsistency(const LaunchRecord& record);

}  // namespace fact

// The GPU architectures that there are kernels for, the features they have, and the skeletons that
// run on them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "support/enum_table.h"
#include "support/result.h"

namespace fact {

// Families of kernels; each has a folder in kernels/ and in src/lower/.
enum class Skeleton { sm80, sm90 };

struct SkeletonInfo {
    Skeleton skeleton;
    std::string_view name;
    bool tensor_maps;  // reads and writes matrices through TMA, which needs aligned rows
    bool two_sums;     // an epilogue may read the sums of two products
    bool windows;      // reads windows of a tensor as an operand of a product
    bool scatters;     // stores results whose dimensions mix rows and columns
    bool overlapping;  // reads rows that overlap in memory as an operand of a product
};

inline constexpr auto kSkeletons =
    table_of<Skeleton>([](Skeleton skeleton) -> std::optional<SkeletonInfo> {
        switch (skeleton) {
            case Skeleton::sm80:
                return SkeletonInfo{skeleton, "sm80", false, false, false, false, false};
            case Skeleton::sm90:
                return SkeletonInfo{skeleton, "sm90", true, true, true, true, true};
        }
        return std::nullopt;
    });

constexpr const SkeletonInfo& info(Skeleton skeleton) {
    return kSkeletons[static_cast<std::size_t>(skeleton)];
}

struct Arch {
    std::string_view name;                // "sm90a": in kernel texts, options and records
    std::string_view gpus;                // for messages
    std::string_view typical_gpu;         // a row of target/gpu_spec.h
    std::span<const Skeleton> skeletons;  // that run on it, the preferred one first
    bool clusters;                        // thread blocks may share their memories
    bool early_start;                     // a kernel may start before the previous one has ended
    bool f16_parts;                       // f32 operands are split into f16 parts, not TF32 parts
};

inline constexpr Skeleton kOnSm90[] = {Skeleton::sm90, Skeleton::sm80};
inline constexpr Skeleton kOnSm80[] = {Skeleton::sm80};

inline constexpr std::array<Arch, 2> kArchs{{
    {"sm90a", "H100, H200", "h200", kOnSm90, true, true, true},
    {"sm80", "A100", "a100-80gb", kOnSm80, false, false, false},
}};

// The architecture if none is given, and the one that whole modules are optimized for.
inline constexpr std::string_view kDefaultArch = kArchs[0].name;

// nullptr if there are no kernels for this architecture.
constexpr const Arch* find_arch(std::string_view name) {
    for (const Arch& arch : kArchs)
        if (arch.name == name) return &arch;
    return nullptr;
}

// An Error that lists the architectures if there are no kernels for this one.
Result<> check_arch(std::string_view name);

}  // namespace fact

// GPU architectures that there are kernels for, and the skeletons they run: whoever asks what one
// has, asks here.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "support/enum_table.h"
#include "support/result.h"

namespace fact {

// Families of kernels, a folder of kernels/ and of src/lower/ each.
enum class Skeleton { sm80, sm90 };

struct SkeletonInfo {
    Skeleton skeleton;
    std::string_view name;
    bool tensor_maps;  // reads and writes matrices through TMA, which asks for aligned rows
    bool two_sums;     // an epilogue may read the sums of two products
};

inline constexpr auto kSkeletons =
    table_of<Skeleton>([](Skeleton skeleton) -> std::optional<SkeletonInfo> {
        switch (skeleton) {
            case Skeleton::sm80:
                return SkeletonInfo{skeleton, "sm80", false, false};
            case Skeleton::sm90:
                return SkeletonInfo{skeleton, "sm90", true, true};
        }
        return std::nullopt;
    });

constexpr const SkeletonInfo& info(Skeleton skeleton) {
    return kSkeletons[static_cast<std::size_t>(skeleton)];
}

struct Arch {
    std::string_view name;                // "sm90a": in kernel texts, options and records
    std::string_view gpus;                // as people know them
    std::string_view typical_gpu;         // a row of target/gpu_spec.h
    std::span<const Skeleton> skeletons;  // that run on it, the preferred one first
    bool early_start;                     // a kernel may start before the one before it has ended
    bool f16_parts;                       // f32 operands become f16 numbers, elsewhere TF32 ones
};

inline constexpr Skeleton kOnSm90[] = {Skeleton::sm90, Skeleton::sm80};
inline constexpr Skeleton kOnSm80[] = {Skeleton::sm80};

inline constexpr std::array<Arch, 2> kArchs{{
    {"sm90a", "H100, H200", "h200", kOnSm90, true, true},
    {"sm80", "A100", "a100-80gb", kOnSm80, false, false},
}};

// What is meant where none is named, and what whole modules are optimized for.
inline constexpr std::string_view kUsualArch = kArchs[0].name;

// nullptr where there are no kernels for it.
constexpr const Arch* find_arch(std::string_view name) {
    for (const Arch& arch : kArchs)
        if (arch.name == name) return &arch;
    return nullptr;
}

// An Error that names those there are.
Result<> check_arch(std::string_view name);

}  // namespace fact

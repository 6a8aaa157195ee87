#include "lower/pipeline/skeletons.h"

#include <fmt/format.h>

#include "lower/sm80/attention.h"
#include "lower/sm80/lower.h"
#include "lower/sm90/attention.h"
#include "lower/sm90/lower.h"

namespace fact::lower {

namespace {

Result<Lowered> attention_by(Skeleton skeleton, const ir::Kernel& kernel,
                             const std::vector<std::int64_t>& extents, std::string_view arch) {
    switch (skeleton) {
        case Skeleton::sm80:
            return sm80::lower_attention(kernel, extents, arch);
        case Skeleton::sm90:
            return sm90::lower_attention(kernel, extents);
    }
    throw InternalError("a skeleton without attention");
}

}  // namespace

std::vector<Skeleton> skeletons_of(std::string_view arch, bool tma) {
    std::vector<Skeleton> all;
    if (const Arch* known = find_arch(arch))
        for (const Skeleton skeleton : known->skeletons)
            if (tma || !info(skeleton).tensor_maps) all.push_back(skeleton);
    return all;
}

Result<schedule::Problem> problem_of(Skeleton skeleton, const ir::Kernel& kernel,
                                     const ProductTarget& target) {
    switch (skeleton) {
        case Skeleton::sm80:
            return sm80::problem_of(kernel, {std::string(target.arch), target.alignment});
        case Skeleton::sm90:
            return sm90::problem_of(kernel);
    }
    throw InternalError("a skeleton without products");
}

Result<Lowered> lower_product(Skeleton skeleton, const Stage& stage,
                              const schedule::Schedule& schedule, const ProductTarget& target) {
    switch (skeleton) {
        case Skeleton::sm80:
            return sm80::lower(stage.kernel, schedule,
                               {std::string(target.arch), target.alignment});
        case Skeleton::sm90:
            return sm90::lower(stage.kernel, schedule,
                               stage.statistics ? &*stage.statistics : nullptr);
    }
    throw InternalError("a skeleton without products");
}

Result<Lowered> lower_attention(const std::vector<Skeleton>& skeletons, const ir::Kernel& kernel,
                                const std::vector<std::int64_t>& extents, std::string_view arch) {
    Result<Lowered> lowered = Error{fmt::format("no skeleton runs on {}", arch), ""};
    for (const Skeleton skeleton : skeletons)
        if (lowered = attention_by(skeleton, kernel, extents, arch); lowered) break;
    return lowered;
}

}  // namespace fact::lower

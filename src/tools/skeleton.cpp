#include "tools/skeleton.h"

#include <fmt/format.h>

namespace fact::tools {

std::string_view name(Skeleton skeleton) {
    return skeleton == Skeleton::sm90 ? "sm90" : "sm80";
}

Result<> check_arch(std::string_view arch) {
    if (arch == "sm90a" || arch == "sm80") return Ok{};
    return Error{fmt::format("there are no kernels for the architecture {}", arch),
                 "use sm90a (H100, H200) or sm80 (A100)", true};
}

schedule::SharedMemory shared_memory(Skeleton skeleton, const schedule::Schedule& schedule,
                                     const schedule::Problem& problem) {
    return skeleton == Skeleton::sm90 ? shared_memory_on_sm90(schedule, problem)
                                      : shared_memory_on_sm80(schedule, problem);
}

int accumulators_a_thread(Skeleton skeleton, const schedule::Schedule& schedule,
                          const schedule::Problem& problem) {
    return skeleton == Skeleton::sm90 ? accumulators_on_sm90(schedule, problem)
                                      : accumulators_on_sm80(schedule, problem);
}

}  // namespace fact::tools

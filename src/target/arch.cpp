#include "target/arch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace fact {

Result<> check_arch(std::string_view name) {
    if (find_arch(name)) return Ok{};
    std::vector<std::string> supported;
    for (const Arch& arch : kArchs)
        supported.push_back(fmt::format("{} ({})", arch.name, arch.gpus));
    return Error{fmt::format("there are no kernels for the architecture {}", name),
                 fmt::format("use {}", fmt::join(supported, " or ")), true};
}

}  // namespace fact

#include "tune/gpu_gone.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace fact::tune {

namespace {

// Parts of messages of the driver, the runtime and torch, in lower case; beside them CUDA's error
// code, or whose message it is.
constexpr std::array<std::string_view, 13> kSigns{
    "no cuda-capable device",         // 100
    "cuda_error_no_device",           //
    "torch sees no gpu",              // our worker's
    "no cuda gpus are available",     // torch's
    "busy or unavailable",            // 46
    "cuda_error_device_unavailable",  //
    "invalid device ordinal",         // 101
    "uncorrectable ecc error",        // 214
    "gpu is lost",                    // NVML's
    "driver initialization failed",   // 3
    "system not yet initialized",     // 802
    "unsupported display driver",     // 803
    "device not licensed",            // 102
};

}  // namespace

bool says_gpu_is_gone(std::string_view failure) {
    std::string text(failure);
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return std::ranges::any_of(kSigns,
                               [&](std::string_view sign) { return text.find(sign) != text.npos; });
}

Error gpu_gone_error(const Error& failure) {
    return {fmt::format("the GPU is gone: {}", failure.message),
            "Finished results are kept: run the same command again when the GPU is back "
            "(nvidia-smi lists it)."};
}

}  // namespace fact::tune

// The long matrix products whose rate is taken as that of the tensor cores: kernel texts, lowered
// with the few most promising schedules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "target/launch_record.h"

namespace fact::calibrate {

struct ProductKernel {
    std::string schedule;
    std::string source;  // CUDA
    LaunchRecord record;
};

struct ProductProbe {
    std::string name;  // of the ceiling: "bf16", "f16", "tf32", "f32_split"
    DType dtype = DType::bf16;
    std::int64_t m = 0, n = 0, k = 0;
    std::string text;                    // x[M, K] and w[N, K] give y[M, N]
    std::vector<ProductKernel> kernels;  // most promising first

    double flops() const {
        return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    }
};

// One per number type, with at most `schedules` kernels each; M, N and K are `size`.
Result<std::vector<ProductProbe>> product_probes(std::string_view arch, int schedules,
                                                 std::int64_t size = 8192);

}  // namespace fact::calibrate

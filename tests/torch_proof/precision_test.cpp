#include "torch/precision.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "dsl/dsl.h"

namespace fact::exec {
namespace {

ir::Kernel text_of(std::string_view product) {
    const auto text =
        std::string("kernel k(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) {\n  y = ") +
        std::string(product) + "\n}\n";
    Diagnostics diagnostics;
    auto program = dsl::compile(text, diagnostics);
    EXPECT_TRUE(program) << render_all(diagnostics, "text", text);
    return program.value().kernels.front();
}

TEST(Precision, ScopesSetWhatTorchComputesIn) {
    TorchPrecision users;
    users.tf32 = {true, false};
    users.reduced_bf16_sums = false;
    {
        const PrecisionScope scope(users, {});
        const auto& context = at::globalContext();
        EXPECT_TRUE(context.allowTF32CuBLAS());
        EXPECT_FALSE(context.allowTF32CuDNN());
        EXPECT_NE(context.allowBF16ReductionCuBLAS(), context.allowFP16ReductionCuBLAS());
    }
    EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
    EXPECT_TRUE(at::globalContext().allowTF32CuDNN());
}

// cuDNN's convolutions are TF32 by torch's default: no yardstick for a kernel that claims fp32.
TEST(Precision, AnExactTextIsMeasuredAgainstTrueFp32) {
    const auto reference = reference_precision({}, text_of("x @ w.T"));
    EXPECT_EQ(reference.tf32, Tf32(false));
    EXPECT_FALSE(reference.reduced_bf16_sums);
    EXPECT_FALSE(reference.reduced_fp16_sums);
}

TEST(Precision, ATextInTf32IsMeasuredAgainstWhatIsAllowed) {
    const auto rounded = text_of("matmul(x, w.T, precision: tf32)");
    EXPECT_EQ(reference_precision({}, rounded).tf32, Tf32(false, true));
    TorchPrecision none;
    none.tf32 = false;
    EXPECT_EQ(reference_precision(none, rounded).tf32, Tf32(false));
}

}  // namespace
}  // namespace fact::exec

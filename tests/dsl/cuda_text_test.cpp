#include "dsl/cuda_text.h"

#include <gtest/gtest.h>

#include "dsl/dsl.h"
#include "ir/interpreter.h"

namespace fact::dsl {
namespace {

constexpr const char* kVoid =
    "kernel k(x: f32[M]) -> (y: f32[M]) {\n  y = sqrt(-1.0 - index(M))\n}\n";

TEST(CudaText, KeepsTheSource) {
    for (const std::string source : {"", "a\n", "\n#include <x>\n\n// ```\n}\n"}) {
        const auto text = cuda_text(source, kVoid);
        ASSERT_TRUE(cuda_source(text));
        EXPECT_EQ(*cuda_source(text), source);
    }
    EXPECT_EQ(*cuda_source(cuda_text("a\r\nb", kVoid)), "a\nb\n");
    EXPECT_FALSE(cuda_source(kVoid));
    EXPECT_FALSE(cuda_source(std::string("\n") + cuda_text("a", kVoid)));
}

TEST(CudaText, ItsKernelIsNeverInterpreted) {
    Diagnostics diagnostics;
    const auto program = compile(cuda_text("a\n", kVoid), diagnostics);
    ASSERT_TRUE(program);
    EXPECT_TRUE(diagnostics.items().empty());  // of no use: that x is not used
    const auto& kernel = program->kernels.front();
    EXPECT_TRUE(kernel.only_interface);
    const auto done = ir::interpret(kernel, {}, {});
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("written in CUDA"), std::string::npos);
    EXPECT_FALSE(compile(kVoid, diagnostics)->kernels.front().only_interface);
}

}  // namespace
}  // namespace fact::dsl

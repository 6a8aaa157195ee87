#include "torch/fused_kernel.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <thread>

#include "../graph/graph_builder.h"
#include "dsl/cuda_text.h"
#include "dsl/dsl.h"

namespace fact::exec {
namespace {

using graph::testing::GraphBuilder;
using graph::testing::tensor;

constexpr std::string_view kText = R"(
kernel double(x: f32[M, N]) -> (y: f32[M, N]) {
  y = x + x
}
)";

std::shared_ptr<FusedKernel> doubling(std::string_view text = kText,
                                      std::vector<std::vector<int>> dims = {{0}, {1}},
                                      graph::TensorType type = tensor({4, 8})) {
    GraphBuilder b;
    const auto x = b.input("x", type);
    b.output(b.node("y", "aten.add.Tensor", {{"self", x}, {"other", x}, {"alpha", std::int64_t{1}}},
                    type));
    graph::FusedCall call;
    call.id = "p01_double";
    call.kernel = "double";
    call.params = {{"x", "x", dims, false}};
    call.results = {{"y", "y", dims, false}};
    call.original = std::move(b.graph);
    Diagnostics diagnostics;
    auto program = dsl::compile(text, diagnostics);
    auto kernel = FusedKernel::make(std::move(call), program->kernels.at(0), {});
    EXPECT_TRUE(kernel.ok()) << kernel.error().text();
    return *kernel;
}

struct Heard : c10::WarningHandler {
    void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
    std::vector<std::string> texts;
};

TEST(FusedKernel, CountsWhatRanAndSaysOnceThatItFellBack) {
    const auto kernel = doubling();
    Heard heard;
    const c10::WarningUtils::WarningHandlerGuard listening(&heard);
    const auto x = at::randn({4, 8}), other = x.to(at::kDouble);
    EXPECT_TRUE(at::equal(kernel->run({x})[0], x + x));
    EXPECT_TRUE(kernel->status(c10::kCPU).fell_back.empty());
    EXPECT_TRUE(heard.texts.empty());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(kernel->run({other})[0], other + other));
    ASSERT_EQ(heard.texts.size(), 1u);
    const auto status = kernel->status(c10::kCPU);
    EXPECT_EQ(heard.texts[0],
              "p01_double runs as torch's operators, not as its kernel: " + status.fell_back);
    EXPECT_EQ(status.call, "p01_double");
    EXPECT_EQ(status.kernel, "double");
    EXPECT_EQ(status.by_kernel, 0);
    EXPECT_EQ(status.by_interpreter, 1);
    EXPECT_EQ(status.by_torch, 3);
    EXPECT_EQ(status.cannot_run, "there is no GPU");
    kernel->run({x});
    EXPECT_TRUE(kernel->status(c10::kCPU).fell_back.empty());
    EXPECT_EQ(kernel->status(c10::kCPU).by_interpreter, 2);
}

TEST(FusedKernel, WritesWhereItIsTold) {
    const auto kernel = doubling();
    Heard heard;
    const c10::WarningUtils::WarningHandlerGuard listening(&heard);
    const auto x = at::randn({4, 8});
    const auto wide = at::ones({4, 24}), part = wide.narrow(1, 8, 8);
    const auto y = kernel->run({x}, false, {part})[0];
    EXPECT_EQ(y.const_data_ptr(), part.const_data_ptr());
    EXPECT_TRUE(at::equal(part, x + x));
    EXPECT_TRUE(at::equal(wide.narrow(1, 0, 8), at::ones({4, 8})));
    EXPECT_TRUE(at::equal(wide.narrow(1, 16, 8), at::ones({4, 8})));
    // An undefined tensor: the result may be anywhere.
    EXPECT_TRUE(at::equal(kernel->run({x}, false, {at::Tensor()})[0], x + x));
    // Torch's operators write elsewhere.
    const auto other = x.to(at::kDouble);
    const auto z = kernel->run({other}, false, {part})[0];
    EXPECT_TRUE(at::equal(z, other + other));
    EXPECT_TRUE(at::equal(part, x + x));
    EXPECT_EQ(kernel->status(c10::kCPU).by_interpreter, 2);
    EXPECT_EQ(kernel->status(c10::kCPU).by_torch, 1);
}

TEST(FusedKernel, WhatItCannotWriteToIsElsewhere) {
    // Its rows are two merged dimensions, which are not adjacent in what it is given.
    const auto kernel = doubling(kText, {{0, 1}, {2}}, tensor({2, 2, 8}));
    Heard heard;
    const c10::WarningUtils::WarningHandlerGuard listening(&heard);
    const auto x = at::randn({2, 2, 8});
    const auto part = at::ones({2, 4, 8}).narrow(1, 0, 2);
    const auto y = kernel->run({x}, false, {part})[0];
    EXPECT_TRUE(at::equal(y, x + x));
    EXPECT_NE(y.const_data_ptr(), part.const_data_ptr());
    const auto status = kernel->status(c10::kCPU);
    EXPECT_EQ(status.by_interpreter, 1);
    EXPECT_TRUE(heard.texts.empty());
    EXPECT_EQ(status.elsewhere, 1);
    EXPECT_NE(status.wrote_elsewhere.find("dimensions 0, 1"), std::string::npos)
        << status.wrote_elsewhere;
    kernel->run({x});
    EXPECT_EQ(kernel->status(c10::kCPU).elsewhere, 1);
    EXPECT_EQ(kernel->status(c10::kCPU).wrote_elsewhere, "");
}

// Where nothing can run it, it is not asked twice.
TEST(FusedKernel, WhatIsNotThereIsNotAskedWhereItWrites) {
    const auto kernel = doubling(dsl::cuda_text("...\n", std::string(kText)));
    Heard heard;
    const c10::WarningUtils::WarningHandlerGuard listening(&heard);
    const auto x = at::randn({4, 8});
    EXPECT_TRUE(at::equal(kernel->run({x}, false, {at::ones({4, 24}).narrow(1, 8, 8)})[0], x + x));
    EXPECT_EQ(kernel->status(c10::kCPU).by_torch, 1);
    EXPECT_EQ(kernel->status(c10::kCPU).elsewhere, 0);
}

TEST(FusedKernel, WrittenInCudaItIsTorchsOnACpu) {
    const auto kernel = doubling(dsl::cuda_text("...\n", std::string(kText)));
    Heard heard;
    const c10::WarningUtils::WarningHandlerGuard listening(&heard);
    const auto x = at::randn({4, 8});
    EXPECT_TRUE(at::equal(kernel->run({x})[0], x + x));
    EXPECT_EQ(kernel->status(c10::kCPU).by_torch, 1);
    ASSERT_EQ(heard.texts.size(), 1u);
    EXPECT_NE(heard.texts[0].find("is written in CUDA"), std::string::npos);
}

TEST(FusedKernel, StrictIsNeitherTorchNorTheInterpreter) {
    const auto kernel = doubling();
    const auto refused = [&](const at::Tensor& x) -> std::string {
        try {
            kernel->run({x}, true);
        } catch (const c10::Error& error) {
            return error.what_without_backtrace();
        }
        return "";
    };
    EXPECT_EQ(
        refused(at::ones({4, 8})),
        "p01_double is not run by its kernel, and the package was loaded with strict=True: its "
        "tensors are on the CPU");
    EXPECT_EQ(refused(at::ones({4, 8}, c10::kMeta)),
              "p01_double is not run by its kernel, and the package was loaded with strict=True: "
              "there are no kernels for meta");
    EXPECT_EQ(kernel->status(c10::kCPU).by_torch, 0);
}

TEST(FusedKernel, ThreadsThatCallItFirstAgree) {
    const auto kernel = doubling();
    Heard heard;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            Heard mine;  // handlers are a thread's own
            const c10::WarningUtils::WarningHandlerGuard listening(&mine);
            const at::Tensor x = at::ones({4, 8}, i % 2 ? c10::kFloat : c10::kDouble) * i;
            for (int turn = 0; turn < 20; ++turn) {
                EXPECT_TRUE(at::equal(kernel->run({x})[0], x + x));
                kernel->refresh();
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(kernel->status(c10::kCPU).by_interpreter, 80);
    EXPECT_EQ(kernel->status(c10::kCPU).by_torch, 80);
}

}  // namespace
}  // namespace fact::exec

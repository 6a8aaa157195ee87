// What several threads, and several processes, do at a time with one package; what the thread
// sanitizer is built for. FACT_TEST_PACKAGE names a package of one fused call and a few inputs.
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "../graph/graph_builder.h"
#include "support/subprocess.h"
#include "torch/package.h"

namespace fact::exec {
namespace {

constexpr int kThreads = 6, kRounds = 10;

// Runs the same on every thread, all of which begin at once.
void on_threads(const std::function<void(int)>& work) {
    std::barrier begin(kThreads);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i] {
            begin.arrive_and_wait();
            work(i);
        });
}

class OnePackage : public testing::Test {
  protected:
    void SetUp() override {
        const char* folder = std::getenv("FACT_TEST_PACKAGE");
        if (!folder || !*folder) GTEST_SKIP() << "FACT_TEST_PACKAGE names no package";
        folder_ = folder;
    }
    std::shared_ptr<Package> opened() const {
        auto package = Package::open(folder_);
        if (!package) throw std::runtime_error(package.error().text());
        return *package;
    }
    static Tensors inputs_of(const Package& package, double value) {
        Tensors inputs;
        for (const auto& input : package.graph().inputs)
            if (input.kind == graph::InputKind::user)
                inputs.push_back(at::ones(package.graph()[input.value].type->sizes).mul_(value));
        return inputs;
    }
    std::string folder_;
};

TEST_F(OnePackage, ThreadsThatShareItGetTheirOwnResults) {
    std::vector<Tensors> expected;
    const auto alone = opened();
    for (int i = 0; i < kThreads; ++i)
        expected.push_back(alone->run_with_own_weights(inputs_of(*alone, i)));
    // A fresh one, so that the first calls, which build and move what the others use, meet.
    const auto shared = opened();
    on_threads([&](int i) {
        for (int round = 0; round < kRounds; ++round) {
            const auto results = shared->run_with_own_weights(inputs_of(*shared, i));
            ASSERT_EQ(results.size(), expected[static_cast<std::size_t>(i)].size());
            for (std::size_t r = 0; r < results.size(); ++r)
                EXPECT_TRUE(at::equal(results[r], expected[static_cast<std::size_t>(i)][r]));
        }
    });
}

TEST_F(OnePackage, ThreadsOpenOneFolder) {
    on_threads([&](int i) {
        const auto own = opened();
        EXPECT_FALSE(own->run_with_own_weights(inputs_of(*own, i)).empty());
    });
}

TEST_F(OnePackage, ProcessesOpenOneFolder) {
    std::vector<std::jthread> processes;
    for (int i = 0; i < 2; ++i)
        processes.emplace_back([] {
            Command command;
            command.argv = {"/proc/self/exe", "--gtest_filter=OnePackage.Threads*"};
            command.argv[0] = std::filesystem::read_symlink(command.argv[0]);
            command.deadline = Seconds(300);
            const auto exit = run(command);
            ASSERT_TRUE(exit) << exit.error().text();
            EXPECT_TRUE(exit->ok()) << exit->out << exit->err;
        });
}

TEST(Threads, ShareAnExecutor) {
    graph::testing::GraphBuilder b;
    auto x = b.input("x", graph::testing::tensor({4, 4}));
    for (int i = 0; i < 8; ++i)
        x = b.node("y" + std::to_string(i), "aten.add.Tensor", {{"self", x}, {"other", x}},
                   graph::testing::tensor({4, 4}));
    b.output(x);
    const auto executor = GraphExecutor::build(b.graph, {c10::kCPU, {}});
    ASSERT_TRUE(executor) << executor.error().text();
    on_threads([&](int i) {
        for (int round = 0; round < kRounds; ++round) {
            const auto found = executor->run({at::ones({4, 4}).mul_(i)});
            EXPECT_TRUE(at::equal(found[0], at::ones({4, 4}).mul_(256 * i)));
        }
    });
}

}  // namespace
}  // namespace fact::exec

// One kernel launched, and others loaded and unloaded, by several threads at a time; the driver is
// a stand-in, so that this runs everywhere and the thread sanitizer sees all of it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "gpu/driver.h"
#include "gpu/kernel.h"
#include "support/subprocess.h"
#include "test_data.h"

namespace fact::gpu {
namespace {

constexpr int kThreads = 6, kRounds = 50;
constexpr const char* kInside = "FACT_TEST_STAND_IN_DRIVER";

LaunchRecord record() {
    LaunchRecord record;
    record.kernel = "probe";
    record.arch = "sm90a";
    record.params = {{"x", DType::i32, 2}};
    Launch launch;
    launch.entry = "probe";
    launch.grid = PersistentGrid{{{0, 0}}, {{0, 1}}, {}, 64, 8};
    launch.block = 128;
    launch.cluster = {2, 1};
    launch.params = {StructParam{16, {{0, PointerField{0}}, {8, ExtentField{{{0, 0}}}}}}};
    record.launches = {launch};
    return record;
}

long count_of(const char* name) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto count = reinterpret_cast<long (*)()>(driver ? dlsym(driver, name) : nullptr);
    return count ? count() : -1;
}

TEST(Launcher, ThreadsShareAKernel) {
    if (!std::getenv(kInside)) {
        Command command;
        command.argv = {std::filesystem::read_symlink("/proc/self/exe"),
                        "--gtest_filter=Launcher.ThreadsShareAKernel"};
        command.environment = {{"LD_LIBRARY_PATH", FACT_STAND_IN_DRIVER}, {kInside, "1"}};
        command.deadline = Seconds(120);
        const auto exit = run(command);
        ASSERT_TRUE(exit) << exit.error().text();
        EXPECT_TRUE(exit->ok()) << exit->out << exit->err;
        return;
    }
    {
        std::optional<Kernel> shared;
        std::barrier begin(kThreads);
        std::mutex loading;
        std::vector<std::jthread> threads;
        for (int i = 0; i < kThreads; ++i)
            threads.emplace_back([&] {
                begin.arrive_and_wait();  // so that the driver is loaded by all of them at once
                auto own = Kernel::load("cubin", record());
                ASSERT_TRUE(own.ok()) << own.error().text();
                {
                    const std::lock_guard lock(loading);
                    if (!shared) shared = *own;
                }
                std::vector<int> memory(64);
                const TensorArg x{memory.data(), DType::i32, {8, 8}, {8, 1}};
                for (int round = 0; round < kRounds; ++round) {
                    ASSERT_TRUE(shared->launch(std::span(&x, 1), {}, nullptr).ok());
                    auto passing = Kernel::load("cubin", record());
                    ASSERT_TRUE(passing.ok() &&
                                passing->launch(std::span(&x, 1), {}, nullptr).ok());
                }
            });
        threads.clear();
        EXPECT_EQ(count_of("stand_in_launches"), 2 * kThreads * kRounds);
    }
    EXPECT_EQ(count_of("stand_in_modules"), 0) << "every module that was loaded is unloaded";
}

}  // namespace
}  // namespace fact::gpu

#include "support/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "support/files.h"

namespace fact {
namespace {

Command shell(std::string script) {
    Command command;
    command.argv = {"sh", "-c", std::move(script)};
    return command;
}

bool exists(pid_t process) {
    return ::kill(process, 0) == 0;
}

// A killed process whose parent is gone stays until init collects it.
bool gone_soon(pid_t process) {
    for (int i = 0; i < 100; ++i) {
        if (!exists(process)) return true;
        auto status = read_file("/proc/" + std::to_string(process) + "/stat");
        if (!status || status->find(") Z") != std::string::npos) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

TEST(Run, CapturesBothOutputsAndTheStatus) {
    auto exit = run(shell("echo out; echo err >&2; exit 3"));
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->out, "out\n");
    EXPECT_EQ(exit->err, "err\n");
    EXPECT_EQ(exit->code, 3);
    EXPECT_EQ(exit->signal, 0);
    EXPECT_FALSE(exit->ok());
}

TEST(Run, LargeInputAndOutputDoNotBlockEachOther) {
    Command command;
    command.argv = {"cat"};
    command.input.assign(8 << 20, 'x');
    command.deadline = Seconds(20);
    auto exit = run(command);
    ASSERT_TRUE(exit);
    EXPECT_TRUE(exit->ok());
    EXPECT_TRUE(exit->out == command.input);
}

TEST(Run, LargeErrorOutputDoesNotBlock) {
    auto command = shell("head -c 3000000 /dev/zero >&2; head -c 2000000 /dev/zero");
    command.deadline = Seconds(20);
    auto exit = run(command);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->err.size(), 3000000u);
    EXPECT_EQ(exit->out.size(), 2000000u);
}

TEST(Run, AProgramThatDoesNotReadItsInputIsNoError) {
    Command command = shell("exec <&-; sleep 0.1; echo done");
    command.input.assign(1 << 20, 'x');
    auto exit = run(command);
    ASSERT_TRUE(exit);
    EXPECT_TRUE(exit->ok());
    EXPECT_EQ(exit->out, "done\n");
}

TEST(Run, DeadlineKillsTheWholeGroup) {
    auto command = shell("sleep 60 & echo $!; wait");
    command.deadline = Seconds(0.3);
    auto exit = run(command);
    ASSERT_TRUE(exit);
    EXPECT_TRUE(exit->timed_out);
    EXPECT_EQ(exit->signal, SIGKILL);
    EXPECT_LT(exit->seconds, 5);
    pid_t stray = std::atoi(exit->out.c_str());
    ASSERT_GT(stray, 0);
    EXPECT_TRUE(gone_soon(stray));
}

TEST(Run, AStrayThatHoldsThePipeDoesNotDelayTheEnd) {
    auto exit = run(shell("sleep 60 & echo $!"));
    ASSERT_TRUE(exit);
    EXPECT_TRUE(exit->ok());
    EXPECT_LT(exit->seconds, 5);
    EXPECT_TRUE(gone_soon(std::atoi(exit->out.c_str())));
}

TEST(Run, ReportsTheSignalOfACrash) {
    auto exit = run(shell("kill -SEGV $$"));
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->signal, SIGSEGV);
    EXPECT_FALSE(exit->timed_out);
}

TEST(Run, EnvironmentAndFolder) {
    ::setenv("FACT_TEST_KEPT", "kept", 1);
    ::setenv("FACT_TEST_REPLACED", "old", 1);
    auto command = shell("echo $FACT_TEST_KEPT $FACT_TEST_REPLACED; pwd");
    command.environment = {{"FACT_TEST_REPLACED", "new"}};
    command.folder = "/";
    auto exit = run(command);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->out, "kept new\n/\n");
}

TEST(Run, WithoutInputItReadsNothing) {
    Command command;
    command.argv = {"cat"};
    auto exit = run(command);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->out, "");
}

TEST(Run, AMissingProgramOrFolderIsAnError) {
    Command command;
    command.argv = {"no-such-program-of-ours"};
    auto exit = run(command);
    ASSERT_FALSE(exit);
    EXPECT_NE(exit.error().message.find("no-such-program-of-ours"), std::string::npos);
    command.argv = {"true"};
    command.folder = "/no/such/folder";
    EXPECT_FALSE(run(command));
}

TEST(Run, FromSeveralThreadsAtATime) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([t] {
            for (int i = 0; i < 5; ++i) {
                Command command;
                command.argv = {"cat"};
                command.input = std::string(100'000, static_cast<char>('a' + t));
                command.deadline = Seconds(20);
                auto exit = run(command);
                ASSERT_TRUE(exit);
                EXPECT_TRUE(exit->out == command.input);
            }
        });
    for (auto& thread : threads) thread.join();
}

// Stands for the whole program: what a Ctrl-C does to it and to its children.
TEST(Interrupt, KillsTheChildrenAndSetsTheFlag) {
    TemporaryFolder folder(testing::TempDir(), "interrupt");
    auto marker = (folder.path() / "child").string();
    pid_t program = ::fork();
    ASSERT_GE(program, 0);
    if (program == 0) {
        install_interrupt_handler();
        auto exit = run(
            shell("echo $$ > " + marker + ".tmp; mv " + marker + ".tmp " + marker + "; sleep 60"));
        bool right = interrupted() && exit && exit->signal == SIGKILL && !run(shell("true"));
        ::_exit(right ? 42 : 1);
    }
    for (int i = 0; i < 500 && !std::filesystem::exists(marker); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    auto child = read_file(marker);
    ASSERT_TRUE(child);
    ::kill(program, SIGINT);
    int status = 0;
    ASSERT_EQ(::waitpid(program, &status, 0), program);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    EXPECT_TRUE(gone_soon(std::atoi(child->c_str())));
}

// A program that is killed with SIGKILL cannot tidy up: its children end all the same, with what
// they started, and whichever thread started them, even one that has ended since.
TEST(ParentDeath, EndsEveryGroupOfAKilledProgram) {
    TemporaryFolder folder(testing::TempDir(), "parent");
    const auto marker = [&](int i) { return folder.path() / std::to_string(i); };
    const auto busy = [&](int i) {
        const auto file = marker(i).string();
        return shell("trap '' TERM HUP; sleep 60 & echo $$ $! > " + file + ".new; mv " + file +
                     ".new " + file + "; wait");
    };
    const pid_t program = ::fork();
    ASSERT_GE(program, 0);
    if (program == 0) {
        std::optional<LineProcess> kept;
        std::thread([&] {
            if (auto started = LineProcess::start(busy(0))) kept = std::move(*started);
        }).join();
        std::thread other([&] { (void)run(busy(1)); });
        // Were it bound to the thread that is gone, it would not live to be asked.
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        if (!kept || !kept->alive()) ::_exit(1);
        (void)run(busy(2));
        ::_exit(2);
    }
    std::vector<pid_t> processes;
    for (int i = 0; i < 3; ++i) {
        for (int n = 0; n < 500 && !std::filesystem::exists(marker(i)); ++n)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::ifstream file(marker(i));
        for (pid_t process; file >> process;) processes.push_back(process);
    }
    ASSERT_EQ(processes.size(), 6u);
    for (const pid_t process : processes) EXPECT_TRUE(exists(process));
    ::kill(program, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(program, &status, 0), program);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
    for (const pid_t process : processes) EXPECT_TRUE(gone_soon(process)) << process;
}

}  // namespace
}  // namespace fact

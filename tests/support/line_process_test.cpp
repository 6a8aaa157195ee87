#include <gtest/gtest.h>
#include <signal.h>

#include "support/subprocess.h"

namespace fact {
namespace {

using Status = LineProcess::Status;

LineProcess start(std::string script) {
    Command command;
    command.argv = {"sh", "-c", std::move(script)};
    auto process = LineProcess::start(command);
    EXPECT_TRUE(process);
    return std::move(process).value();
}

TEST(LineProcess, OneAnswerALine) {
    auto process = start("while read line; do echo \"got $line\"; done");
    EXPECT_EQ(process.ask("a", Seconds(5)).line, "got a");
    auto answer = process.ask("b", Seconds(5));
    EXPECT_EQ(answer.status, Status::answered);
    EXPECT_EQ(answer.line, "got b");
    EXPECT_TRUE(process.alive());
}

TEST(LineProcess, LongLinesBothWays) {
    auto process = start("exec cat");
    std::string line(3'000'000, 'x');
    auto answer = process.ask(line, Seconds(20));
    EXPECT_EQ(answer.status, Status::answered);
    EXPECT_TRUE(answer.line == line);
}

TEST(LineProcess, SilenceIsATimeoutAndTheEnd) {
    auto process = start("echo thinking >&2; sleep 60");
    auto answer = process.ask("a", Seconds(0.3));
    EXPECT_EQ(answer.status, Status::timed_out);
    EXPECT_EQ(answer.line, "thinking\n");
    EXPECT_FALSE(process.alive());
    EXPECT_EQ(process.ask("b", Seconds(1)).status, Status::ended);
}

TEST(LineProcess, ACrashBringsSignalAndLastWords) {
    auto process = start("read line; echo 'bad address' >&2; kill -SEGV $$");
    auto answer = process.ask("a", Seconds(5));
    EXPECT_EQ(answer.status, Status::ended);
    EXPECT_EQ(answer.signal, SIGSEGV);
    EXPECT_EQ(answer.line, "bad address\n");
}

TEST(LineProcess, AnExitBringsItsCode) {
    auto process = start("read line; exit 7");
    auto answer = process.ask("a", Seconds(5));
    EXPECT_EQ(answer.status, Status::ended);
    EXPECT_EQ(answer.code, 7);
    EXPECT_EQ(answer.signal, 0);
}

TEST(LineProcess, AnAnswerJustBeforeTheEndCounts) {
    auto process = start("read line; echo last; exit 0");
    EXPECT_EQ(process.ask("a", Seconds(5)).line, "last");
    EXPECT_EQ(process.ask("b", Seconds(5)).status, Status::ended);
}

TEST(LineProcess, ClosedOutputIsAnEndWithoutTheWholeDeadline) {
    auto process = start("read line; exec >&-; sleep 60");
    auto started = std::chrono::steady_clock::now();
    EXPECT_EQ(process.ask("a", Seconds(30)).status, Status::ended);
    EXPECT_LT(Seconds(std::chrono::steady_clock::now() - started).count(), 10);
}

TEST(LineProcess, KeepsOnlyTheTailOfErrors) {
    auto process = start("read line; head -c 1000000 /dev/zero >&2; echo the end >&2; exit 1");
    auto answer = process.ask("a", Seconds(20));
    EXPECT_LE(answer.line.size(), 64u * 1024);
    EXPECT_TRUE(answer.line.ends_with("the end\n"));
}

TEST(LineProcess, KillEndsIt) {
    auto process = start("exec cat");
    process.kill();
    EXPECT_FALSE(process.alive());
    EXPECT_EQ(process.ask("a", Seconds(1)).status, Status::ended);
}

TEST(LineProcess, MovesKeepTheConversation) {
    auto first = start("exec cat");
    LineProcess second = std::move(first);
    EXPECT_FALSE(first.alive());
    EXPECT_EQ(second.ask("hello", Seconds(5)).line, "hello");
    first = std::move(second);
    EXPECT_EQ(first.ask("again", Seconds(5)).line, "again");
}

TEST(LineProcess, AMissingProgramIsAnError) {
    Command command;
    command.argv = {"no-such-program-of-ours"};
    EXPECT_FALSE(LineProcess::start(command));
}

}  // namespace
}  // namespace fact

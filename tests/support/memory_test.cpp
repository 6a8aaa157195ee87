#include "support/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "support/files.h"
#include "support/subprocess.h"

namespace fact {
namespace {

TEST(Memory, OfThisProcess) {
    const auto held = resident_memory(getpid());
    EXPECT_GT(held, 1u << 20);
    EXPECT_LT(held, physical_memory());
    EXPECT_EQ(resident_memory(-1), 0u);
}

TEST(Memory, FromTheEnvironment) {
    unsetenv("FACT_TEST_MEMORY");
    EXPECT_EQ(*memory_from_environment("FACT_TEST_MEMORY", 7), 7u);
    setenv("FACT_TEST_MEMORY", "0.5", 1);
    EXPECT_EQ(*memory_from_environment("FACT_TEST_MEMORY", 7), kGibibyte / 2);
    for (const char* senseless : {"much", "-1", "0", "4GB", "nan", "1e30"}) {
        setenv("FACT_TEST_MEMORY", senseless, 1);
        const auto read = memory_from_environment("FACT_TEST_MEMORY", 7);
        ASSERT_FALSE(read.ok()) << senseless;
        EXPECT_NE(read.error().message.find("FACT_TEST_MEMORY"), std::string::npos);
    }
    unsetenv("FACT_TEST_MEMORY");
    EXPECT_EQ(memory_text(16 * kGibibyte), "16 GiB");
    EXPECT_EQ(memory_text(64 << 20), "64 MiB");
}

TEST(Memory, AddressSpaceOfAChildIsLimited) {
    Command command;
    command.argv = {"sh", "-c", "ulimit -v; sh -c 'ulimit -v'; echo $1", "sh", "two words"};
    command.address_bytes = 512 << 20;
    const auto exit = run(command);
    ASSERT_TRUE(exit.ok());
    EXPECT_EQ(exit->out, "524288\n524288\ntwo words\n");
    command.argv = {"/no/such/program"};
    const auto missing = run(command);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().message, "cannot start /no/such/program: No such file or directory");
}

TEST(Memory, ALineProcessThatGrowsIsKilled) {
    Command command;
    // tail keeps a line that does not end.
    command.argv = {"sh", "-c", "read line; exec tail -n 1 /dev/zero"};
    command.resident_bytes = 64 << 20;
    auto process = LineProcess::start(command);
    ASSERT_TRUE(process.ok());
    const auto answer = process->ask("go", Seconds(30));
    EXPECT_EQ(answer.status, LineProcess::Status::too_much_memory);
    EXPECT_EQ(answer.signal, SIGKILL);
    EXPECT_FALSE(process->alive());
}

// Files may grow to 1000 bytes while it exists.
class SmallFiles {
  public:
    SmallFiles() {
        before_ = std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &limit_);
        const rlimit small{1000, limit_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallFiles() {
        setrlimit(RLIMIT_FSIZE, &limit_);
        std::signal(SIGXFSZ, before_);
    }

  private:
    rlimit limit_;
    void (*before_)(int);
};

TEST(FullDisk, NothingIsHalfWritten) {
    namespace fs = std::filesystem;
    TemporaryFolder folder(fs::temp_directory_path(), "fact-full");
    const auto file = folder.path() / "result.json", journal = folder.path() / "journal";
    ASSERT_TRUE(write_file_atomic(file, "old").ok());
    ASSERT_TRUE(append_to_file(journal, "one\n").ok());
    {
        const SmallFiles limit;
        const auto written = write_file_atomic(file, std::string(5000, 'x'));
        ASSERT_FALSE(written.ok());
        EXPECT_NE(written.error().message.find("result.json"), std::string::npos);
        EXPECT_FALSE(written.error().hint.empty());
        EXPECT_FALSE(append_to_file(journal, std::string(5000, 'x')).ok());
        EXPECT_TRUE(append_to_file(journal, "two\n").ok());
    }
    EXPECT_EQ(*read_file(file), "old");
    EXPECT_EQ(*read_file(journal), "one\ntwo\n");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
    const auto full = append_to_file("/dev/full", "three\n");
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().hint, "free some space on that disk");
}

}  // namespace
}  // namespace fact

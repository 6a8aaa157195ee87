#include "driver/python_ahead.h"

#include <gtest/gtest.h>

#include "driver/environment.h"
#include "support/files.h"

namespace fact::driver {
namespace {

namespace fs = std::filesystem;

// A Python of ours: notes whether it was started ahead, and its arguments.
class PythonAheadTest : public testing::Test {
  protected:
    void SetUp() override {
        environment_.python = (folder_.path() / "python").string();
        behave("exit 3");
    }

    void behave(const std::string& end) {
        const auto text = "#!/bin/sh\nnotes=" + (folder_.path() / "notes").string() + R"sh(
if [ "$2" = fact._ahead ]; then
    [ -e "${0%/*}/chatty" ] && echo hello
    read -r line
    echo "ahead $3 $line" >>"$notes"
else
    shift
    echo "new $*" >>"$notes"
fi
echo trouble >&2
)sh" + end + "\n";
        ASSERT_TRUE(write_file_atomic(environment_.python, text));
        fs::permissions(environment_.python, fs::perms::owner_all);
    }

    std::string notes() const {
        const auto text = read_file(folder_.path() / "notes");
        return text ? *text : "";
    }

    TemporaryFolder folder_{fs::temp_directory_path(), "fact-ahead-test"};
    Environment environment_;
};

TEST_F(PythonAheadTest, TheOneThatWaitsGetsTheArguments) {
    environment_.ahead->start(environment_, "fact.bench");
    environment_.ahead->start(environment_, "fact.bench");
    const auto exit = run_python(environment_, "fact.bench", {"a b", "--json"});
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 3);
    EXPECT_EQ(exit->err, "trouble\n");
    EXPECT_EQ(notes(), "ahead fact.bench [\"a b\",\"--json\"]\n");
    // It serves once.
    EXPECT_EQ(run_python(environment_, "fact.bench", {"c"})->code, 3);
    EXPECT_EQ(notes(), "ahead fact.bench [\"a b\",\"--json\"]\nnew fact.bench c\n");
}

TEST_F(PythonAheadTest, WithoutOneThatWaitsANewOneIsStarted) {
    environment_.ahead->start(environment_, "fact.ablate");
    EXPECT_EQ(run_python(environment_, "fact.bench", {"c"})->code, 3);
    EXPECT_EQ(notes(), "new fact.bench c\n");
    environment_.ahead->clear();
    EXPECT_EQ(run_python(environment_, "fact.ablate", {"d"})->code, 3);
    EXPECT_EQ(notes(), "new fact.bench c\nnew fact.ablate d\n");
}

TEST_F(PythonAheadTest, ASignalIsToldAsOne) {
    behave("kill -SEGV $$");
    environment_.ahead->start(environment_, "fact.bench");
    EXPECT_EQ(run_python(environment_, "fact.bench", {})->signal, 11);
}

// Something that Python runs at its start prints: then nobody knows when the program has ended.
TEST_F(PythonAheadTest, OneThatPrintsIsNotUsed) {
    ASSERT_TRUE(write_file_atomic(folder_.path() / "chatty", std::string()));
    environment_.ahead->start(environment_, "fact.bench");
    EXPECT_EQ(run_python(environment_, "fact.bench", {"c"})->code, 3);
    EXPECT_NE(notes().find("new fact.bench c\n"), std::string::npos);
}

}  // namespace
}  // namespace fact::driver

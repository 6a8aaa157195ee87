#include "driver/trace.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "support/files.h"

namespace fact::driver {
namespace {

namespace fs = std::filesystem;

// A stand-in for Python: counts its calls, then does what the test asks for.
class TraceTest : public testing::Test {
  protected:
    TraceTest() : folder_(fs::temp_directory_path(), "fact-trace-test"), run_(at("run")) {
        environment_.root = at("root");
        environment_.python = at("python").string();
        write("model.py", "Model = 1  # reads FACT_TEST_SMALL");
        behave("printf archive > \"$out\"; list");
    }
    ~TraceTest() override { ::unsetenv("FACT_TEST_SMALL"); }

    fs::path at(const std::string& name) const { return folder_.path() / name; }
    void write(const std::string& name, const std::string& text) {
        ASSERT_TRUE(write_file_atomic(at(name), text));
    }
    // python -m fact.trace SOURCE -o OUT --sources LIST --device D [--dtype T]
    void behave(const std::string& what) {
        const auto source = at("model.py").string();
        write("python", "#!/bin/sh\nout=$5\nlisting=$7\necho x >> " + at("calls").string() +
                            "\nlist() { printf '{\"files\": {\"%s\": \"%s\"}}' " + source +
                            " $(sha256sum " + source + " | cut -d' ' -f1) > \"$listing\"; }\n" +
                            what + "\n");
        ::chmod(at("python").c_str(), 0755);
    }
    int calls() const {
        const auto text = read_file(at("calls"));
        return text ? static_cast<int>(text->size() / 2) : 0;
    }
    Result<bool> trace(const std::string& dtype = {}) {
        return trace_stage(environment_, {at("model.py").string(), dtype}, run_);
    }
    std::size_t files_in_run() const {
        std::error_code ignored;
        return std::distance(fs::directory_iterator(run_.path(), ignored), {});
    }

    TemporaryFolder folder_;
    Environment environment_;
    RunFolder run_;
};

TEST_F(TraceTest, IsDoneOnceForTheSameSource) {
    const auto first = trace();
    ASSERT_TRUE(first) << first.error().text();
    EXPECT_TRUE(*first);
    EXPECT_EQ(*read_file(run_.archive()), "archive");
    const auto second = trace();
    ASSERT_TRUE(second);
    EXPECT_FALSE(*second);
    EXPECT_EQ(calls(), 1);
}

TEST_F(TraceTest, IsDoneAgainWhenAnythingItFollowsFromChanges) {
    ASSERT_TRUE(trace());
    write("model.py", "Model = 2  # reads FACT_TEST_SMALL");
    EXPECT_TRUE(*trace()) << "the source";
    EXPECT_TRUE(*trace("bf16")) << "the dtype";
    ::setenv("FACT_TEST_SMALL", "1", 1);
    EXPECT_TRUE(*trace("bf16")) << "a variable the source mentions";
    ::setenv("FACT_TEST_UNHEARD_OF", "1", 1);
    EXPECT_FALSE(*trace("bf16")) << "another variable";
    fs::remove(run_.archive());
    EXPECT_TRUE(*trace("bf16")) << "the archive is gone";
}

TEST_F(TraceTest, AMistakeOfTheUsersIsPassedOn) {
    behave("echo noise >&2; echo 'error: model.py:3: has no `Model`' >&2; exit 2");
    const auto done = trace();
    ASSERT_FALSE(done);
    EXPECT_TRUE(done.error().bad_input);
    EXPECT_EQ(done.error().text(), "model.py:3: has no `Model`");
    EXPECT_EQ(files_in_run(), 0u);
}

TEST_F(TraceTest, AKilledPythonLeavesNothingBehind) {
    behave("printf half > \"$out\"; kill -9 $$");
    const auto done = trace();
    ASSERT_FALSE(done);
    EXPECT_FALSE(done.error().bad_input);
    EXPECT_NE(done.error().message.find("signal 9"), std::string::npos);
    EXPECT_EQ(files_in_run(), 0u);
}

TEST_F(TraceTest, AMissingPythonIsAnError) {
    environment_.python = at("nowhere").string();
    EXPECT_FALSE(trace());
}

TEST(CheckSource, NamesWhatIsWrong) {
    const auto missing = check_source("/nowhere/model.py");
    ASSERT_FALSE(missing);
    EXPECT_TRUE(missing.error().bad_input);
    EXPECT_EQ(missing.error().message, "/nowhere/model.py: no such file");
    const auto folder = check_source("/tmp");
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().message, "/tmp: not a Python file (*.py)");
    EXPECT_TRUE(check_source("package.module:factory"));
}

}  // namespace
}  // namespace fact::driver

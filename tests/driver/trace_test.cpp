#include "driver/trace.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
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
        write("model.py", "Model = 1");
        write("weights", "w");
        write("large", "l");
        behave("printf archive > \"$out\"; list");
    }
    ~TraceTest() override { ::unsetenv("FTW"); }

    fs::path at(const std::string& name) const { return folder_.path() / name; }
    void write(const std::string& name, const std::string& text) {
        ASSERT_TRUE(write_file_atomic(at(name), text));
    }
    // python -m fact.trace SOURCE -o OUT --sources LIST --device D [--dtype T]
    void behave(const std::string& what) {
        write("python", "#!/bin/sh\nout=$5\nlisting=$7\ncd " + folder_.path().string() + R"sh(
echo x >> calls
known() { printf '"%s/%s": {"size": %s, %s}' "$PWD" "$1" "$(stat -c %s "$1")" "$2"; }
content() { known "$1" "\"sha256\": \"$(sha256sum "$1" | cut -d' ' -f1)\""; }
timed() { known "$1" "\"mtime_ns\": $(date -r "$1" +%s%N)"; }
list() {
    printf '{"files": {%s, %s, %s}, "variables": ["FTW"]}' \
        "$(content model.py)" "$(content weights)" "$(timed large)" > "$listing"
}
)sh" + what + "\n");
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
    write("model.py", "Model = 2");
    EXPECT_TRUE(*trace()) << "the source";
    EXPECT_TRUE(*trace("bf16")) << "the dtype";
    write("weights", "v");
    EXPECT_TRUE(*trace("bf16")) << "a file it read";
    fs::last_write_time(at("large"), fs::file_time_type::clock::now() + std::chrono::seconds(9));
    EXPECT_TRUE(*trace("bf16")) << "the time of a large one";
    ::setenv("FTW", "", 1);
    EXPECT_TRUE(*trace("bf16")) << "a variable it asked for is set";
    ::setenv("FTW", "1", 1);
    EXPECT_TRUE(*trace("bf16")) << "and changed";
    ::setenv("FACT_TEST_UNHEARD_OF", "1", 1);
    EXPECT_FALSE(*trace("bf16")) << "another variable";
    fs::remove(run_.archive());
    EXPECT_TRUE(*trace("bf16")) << "the archive is gone";
    ASSERT_TRUE(write_file_atomic(run_.archive(), "arch"));
    EXPECT_TRUE(*trace("bf16")) << "the archive is damaged";
    EXPECT_FALSE(*trace("bf16"));
    fs::remove(at("weights"));
    behave("printf archive > \"$out\"; echo '{\"files\": {}, \"variables\": []}' > \"$listing\"");
    EXPECT_TRUE(*trace("bf16")) << "a file it read is gone";
}

TEST_F(TraceTest, AnInterpreterThatEndsSilentlyIsTheModulesFault) {
    for (const auto* how : {"exit 0", "echo noise >&2; exit 3", "exit 2"}) {
        behave(how);
        const auto done = trace();
        ASSERT_FALSE(done);
        EXPECT_TRUE(done.error().bad_input);
        EXPECT_NE(done.error().message.find("the tracer ended without writing model.pt2"),
                  std::string::npos)
            << done.error().text();
        EXPECT_EQ(files_in_run(), 0u);
    }
}

TEST_F(TraceTest, OnlyAFileIsReplacedAndALinkIsFollowed) {
    const TraceRequest request{at("model.py").string(), ""};
    ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
    const auto refused = fact::driver::trace(environment_, request, at("pipe"), {});
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().bad_input);
    EXPECT_EQ(calls(), 0);
    EXPECT_TRUE(fs::is_fifo(at("pipe")));
    fs::create_symlink("real.pt2", at("link.pt2"));
    ASSERT_TRUE(fact::driver::trace(environment_, request, at("link.pt2"), {}));
    EXPECT_TRUE(fs::is_symlink(at("link.pt2")));
    EXPECT_EQ(*read_file(at("real.pt2")), "archive");
}

TEST_F(TraceTest, AnOutputThatCannotBeWrittenIsTheUsersMistake) {
    const TraceRequest request{at("model.py").string(), ""};
    const auto refused = fact::driver::trace(environment_, request, "/proc/fact/model.pt2", {});
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().bad_input);
    EXPECT_EQ(calls(), 0);
}

TEST_F(TraceTest, AMistakeOfTheUsersIsPassedOn) {
    behave("echo 'an error: noise' >&2; echo 'error: model.py:3: has no `Model`' >&2; exit 2");
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

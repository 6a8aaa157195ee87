#include "support/progress.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fact {
namespace {

// Where standard error is not a terminal, each step is a line a log can keep.
TEST(Progress, PlainLinesInALog) {
    if (::isatty(STDERR_FILENO)) GTEST_SKIP() << "standard error is a terminal";
    testing::internal::CaptureStderr();
    {
        Progress progress("compile", 2);
        progress.status("starting");
        progress.step("a");
        progress.step("b");
        progress.finish("2 kernels");
        progress.finish("said once");
    }
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(text.starts_with("compile 1/2: a\ncompile 2/2: b\ncompile: 2 kernels (")) << text;
    EXPECT_EQ(text.find("starting"), std::string::npos);
    EXPECT_EQ(text.find("said once"), std::string::npos);
}

}  // namespace
}  // namespace fact

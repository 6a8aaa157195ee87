#include "tools/kernel_source.h"

#include <unistd.h>

#include "kernels.h"
#include "support/files.h"

namespace fact::tools {
namespace {

TEST(KernelSource, RefusesWhatIsNoText) {
    const TemporaryFolder folder(testing::TempDir(), "source");
    const auto in = [&](const char* name) { return (folder.path() / name).string(); };
    const auto refused = [](const std::string& path) {
        const auto source = read_source(path);
        EXPECT_FALSE(source) << path;
        EXPECT_TRUE(source || source.error().bad_input);
        return source ? std::string() : source.error().message;
    };
    ASSERT_TRUE(write_file_atomic(in("junk"), std::string("\x7f"
                                                          "ELF\0\1\2",
                                                          7)));
    EXPECT_NE(refused(in("junk")).find("byte 4 is zero"), std::string::npos);
    EXPECT_NE(refused(in("missing")).find("No such file"), std::string::npos);
    EXPECT_NE(refused(folder.path().string()).find("directory"), std::string::npos);
    ASSERT_TRUE(write_file_atomic(in("huge"), ""));
    ASSERT_EQ(::truncate(in("huge").c_str(), off_t{1} << 40), 0);
    EXPECT_NE(refused(in("huge")).find("larger than"), std::string::npos);
    ASSERT_TRUE(write_file_atomic(in("good"), kMlp));
    EXPECT_EQ(read_source(in("good"))->text, kMlp);
}

TEST(KernelSource, ErrorsShowEveryMistake) {
    const auto program = compile({"a.fact", "kernel f(x: f33[M]) -> (y: f32[M]) {\n  y = z\n}\n"});
    ASSERT_FALSE(program);
    EXPECT_TRUE(program.error().bad_input);
    EXPECT_TRUE(program.error().message.starts_with("a.fact has 2 errors:\na.fact:1:13: error[F"))
        << program.error().message;
}

TEST(KernelSource, PicksAKernel) {
    const auto two = compiled(
        "kernel one(x: f32[M]) -> (y: f32[M]) {\n  y = -x\n}\n"
        "kernel two(x: f32[M]) -> (y: f32[M]) {\n  y = abs(x)\n}\n");
    EXPECT_EQ((*select_kernel(two, "two", "a.fact"))->name, "two");
    EXPECT_EQ(select_kernel(two, "", "a.fact").error().text(),
              "a.fact has 2 kernels\n  choose one with --kernel: one, two");
    EXPECT_EQ(select_kernel(two, "onee", "a.fact").error().text(),
              "a.fact has no kernel 'onee'\n  did you mean 'one'?");
    EXPECT_EQ((*select_kernel(compiled(kMlp), "mlp_up", "a.fact")) != nullptr, true);
    EXPECT_EQ(select_kernel({}, "", "a.fact").error().message, "a.fact has no kernel");
}

}  // namespace
}  // namespace fact::tools

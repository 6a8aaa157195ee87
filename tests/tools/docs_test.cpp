// Every example of the language's reference becomes a kernel, on every architecture.
#include "kernels.h"
#include "support/files.h"
#include "tools/build.h"
#include "tools/choose.h"

namespace fact::tools {
namespace {

TEST(Docs, EveryExampleIsEmitted) {
    const auto text = read_file(FACT_SOURCE_DIR "/docs/language.md");
    ASSERT_TRUE(text) << text.error().text();
    const std::string open = "```fact\n", close = "```";
    int kernels = 0;
    for (std::size_t at = 0; (at = text->find(open, at)) != text->npos;) {
        const std::size_t begin = at + open.size(), end = text->find(close, begin);
        const dsl::Program program = compiled(text->substr(begin, end - begin));
        at = end + close.size();
        for (const auto* all : {&program.kernels, &program.pipelines})
            for (const ir::Kernel& kernel : *all)
                for (const char* arch : {"sm90a", "sm80"}) {
                    const Extents extents = bound(kernel, {});
                    const auto choice = choose_schedules(program, kernel, arch, extents);
                    ASSERT_TRUE(choice) << choice.error().text();
                    const auto emitted = emit(kernel, *choice, arch, extents);
                    ASSERT_TRUE(emitted) << emitted.error().text();
                    EXPECT_EQ(inconsistency(emitted->record), "");
                    ++kernels;
                }
    }
    EXPECT_GE(kernels, 10);
}

}  // namespace
}  // namespace fact::tools

// The reference keeps in step with the language: its examples compile, and it leaves nothing out.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "dsl/dsl.h"
#include "dsl/prelude.h"
#include "dsl/schedule_block.h"
#include "dsl/words.h"
#include "target/arch.h"

namespace fact::dsl {
namespace {

std::string reference() {
    std::ifstream file(FACT_SOURCE_DIR "/docs/language.md");
    return {std::istreambuf_iterator<char>(file), {}};
}

bool mentions(const std::string& text, std::string_view word) {
    return std::regex_search(text, std::regex("\\b" + std::string(word) + "\\b"));
}

TEST(Docs, FitIntoAPrompt) {
    // Two thousand tokens: of this text one has 2.87 characters (o200k).
    EXPECT_LE(reference().size(), 5740u);
}

TEST(Docs, EveryExampleCompiles) {
    const std::string text = reference(), fence = "```";
    int examples = 0;
    for (std::size_t at = 0; (at = text.find(fence, at)) != std::string::npos; ++examples) {
        const std::size_t begin = text.find('\n', at) + 1, end = text.find(fence, begin);
        ASSERT_NE(end, std::string::npos) << "a fence is not closed";
        const std::string example = text.substr(begin, end - begin);
        Diagnostics diagnostics;
        const auto program = compile(example, diagnostics);
        EXPECT_TRUE(program) << example << render_all(diagnostics, "language.md", example);
        EXPECT_TRUE(format(example, diagnostics));
        at = end + fence.size();
    }
    EXPECT_GE(examples, 4);
}

TEST(Docs, EveryFunctionAppears) {
    const std::string text = reference();
    for (const std::string& name : function_names()) EXPECT_TRUE(mentions(text, name)) << name;
    for (const CompositeInfo& row : kComposites) {
        const Composite* composite = find_composite(row.name);
        ASSERT_TRUE(composite) << row.name;
        for (const Parameter& parameter : composite->signature.parameters)
            EXPECT_TRUE(mentions(text, parameter.name)) << row.name << " " << parameter.name;
        EXPECT_FALSE(row.meaning.empty()) << row.name;
    }
}

TEST(Docs, EveryStatementEntryAndTargetAppears) {
    const std::string text = reference();
    for (const auto entry : kEntries) EXPECT_TRUE(mentions(text, entry)) << entry;
    for (const Arch& arch : kArchs) EXPECT_TRUE(mentions(text, arch.name)) << arch.name;
    for (const auto& row : kDTypes)
        EXPECT_EQ(mentions(text, row.name), row.dtype != DType::f64) << row.name;
    for (const char* form :
         {"kernel ", "pipeline ", "schedule ", "stored h = bf16(", "m, s = ", ".T", ".permute(",
          ".view(", "persistent(", "streamk(", "raster", "swizzle", "cooperative", "pingpong"})
        EXPECT_NE(text.find(form), std::string::npos) << form;
    for (const auto& row : ir::kBinary)
        EXPECT_NE(text.find(row.name), std::string::npos) << row.name;
}

}  // namespace
}  // namespace fact::dsl

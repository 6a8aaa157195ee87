// Text to C++: every kernel and pipeline of tests/dsl/golden as the compiler emits it for sm90a.
// FACT_UPDATE_GOLDEN=1 writes the expected files anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "../golden.h"
#include "dsl/dsl.h"
#include "lower/pipeline/lower.h"

namespace fact::tools {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Cuda, TextsGiveTheirSources) {
    std::vector<fs::path> texts;
    for (const auto& entry : fs::directory_iterator(FACT_SOURCE_DIR "/tests/dsl/golden"))
        if (entry.path().extension() == ".fact") texts.push_back(entry.path());
    std::sort(texts.begin(), texts.end());
    ASSERT_FALSE(texts.empty());
    for (const fs::path& path : texts) {
        const std::string text = read(path);
        Diagnostics diagnostics;
        const auto program = dsl::compile(text, diagnostics);
        ASSERT_TRUE(program) << render_all(diagnostics, path.filename().string(), text);
        std::string sources;
        for (const auto* list : {&program->kernels, &program->pipelines})
            for (const ir::Kernel& kernel : *list) {
                const auto lowered = lower::lower(kernel, {});
                ASSERT_TRUE(lowered.ok()) << kernel.name << ": " << lowered.error().text();
                sources += "// ---- " + kernel.name + ": " + lowered->record.schedule + "\n" +
                           lowered->source + "\n";
            }
        expect_golden(path.stem().string() + ".cu", sources);
    }
}

}  // namespace
}  // namespace fact::tools

// Text to checked form: golden/NAME.fact gives golden/NAME.ir, its kernels listed and printed.
// FACT_UPDATE_GOLDEN=1 writes the expected files anew.
#include "../golden.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "dsl/dsl.h"
#include "ir/dump.h"
#include "test_data.h"

namespace fact::dsl {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string listed(const Program& program) {
    std::string out;
    for (const auto* list : {&program.kernels, &program.pipelines})
        for (const ir::Kernel& kernel : *list)
            out += ir::dump(kernel) + "\n" + to_text(kernel) + "\n";
    for (const ScheduleBlock& block : program.schedules) out += to_text(block) + "\n";
    return out;
}

TEST(Golden, TextsGiveTheirCheckedForm) {
    std::vector<fs::path> texts;
    for (const auto& entry : fs::directory_iterator(FACT_TEST_DATA "/golden"))
        if (entry.path().extension() == ".fact") texts.push_back(entry.path());
    std::sort(texts.begin(), texts.end());
    EXPECT_GE(texts.size(), 8u);
    for (const fs::path& path : texts) {
        const std::string text = read(path);
        Diagnostics diagnostics;
        const auto program = compile(text, diagnostics);
        ASSERT_TRUE(program) << render_all(diagnostics, path.filename().string(), text);
        expect_golden(path.stem().string() + ".ir", listed(*program));
        EXPECT_EQ(format(text, diagnostics).value_or(""), text) << path;
        for (const auto* list : {&program->kernels, &program->pipelines})
            for (const ir::Kernel& kernel : *list) {
                const std::string printed = to_text(kernel);
                const auto again = compile(printed, diagnostics);
                ASSERT_TRUE(again) << printed << render_all(diagnostics, "printed", printed);
                EXPECT_EQ(to_text(again->kernels[0]), printed);
            }
    }
}

}  // namespace
}  // namespace fact::dsl

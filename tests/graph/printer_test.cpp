// Golden tables of the real archives; FACT_UPDATE_GOLDEN=1 writes them anew.
#include "graph/printer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/canonical.h"
#include "graph/pt2_archive.h"
#include "support/files.h"

namespace fact::graph {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(FACT_TEST_DATA) / "data" / name;
    if (std::getenv("FACT_UPDATE_GOLDEN") != nullptr) {
        const auto written = write_file_atomic(path, text);
        ASSERT_TRUE(written) << written.error().text();
    }
    const auto golden = read_file(path);
    ASSERT_TRUE(golden) << golden.error().text();
    EXPECT_EQ(text, *golden);
}

TEST(Printer, MatchesGoldenTables) {
    for (const std::string name : {"gpt_block", "features"}) {
        const auto archive =
            read_pt2(std::filesystem::path(FACT_TEST_DATA) / "data" / (name + ".pt2"));
        ASSERT_TRUE(archive) << archive.error().text();
        expect_golden(name + ".golden", print(canonicalize(archive->graph)));
    }
}

TEST(Printer, PrintsAnEmptyGraph) {
    EXPECT_EQ(print(Graph{}),
              "0 nodes\n\ninputs:\nweights: 0 parameters, 0 buffers, 0 constants, 0 B\n\n"
              "nodes:\n  name  op  shape  dtype  source  module\n\noutputs:\n");
}

}  // namespace
}  // namespace fact::graph

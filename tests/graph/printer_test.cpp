// Golden tables of the real archives; FACT_UPDATE_GOLDEN=1 writes them anew.
#include "graph/printer.h"

#include "../golden.h"
#include "graph/canonical.h"
#include "graph/pt2_archive.h"
#include "test_data.h"

namespace fact::graph {
namespace {

TEST(Printer, MatchesGoldenTables) {
    for (const std::string name : {"gpt_block", "features"}) {
        const auto archive =
            read_pt2(std::filesystem::path(FACT_TEST_DATA) / "data" / (name + ".pt2"));
        ASSERT_TRUE(archive) << archive.error().text();
        expect_golden(name + ".txt", print(canonicalize(archive->graph)));
    }
}

TEST(Printer, PrintsAnEmptyGraph) {
    EXPECT_EQ(print(Graph{}),
              "0 nodes\n\ninputs:\nweights: 0 parameters, 0 buffers, 0 constants, 0 B\n\n"
              "nodes:\n  name  op  shape  dtype  source  module\n\noutputs:\n");
}

}  // namespace
}  // namespace fact::graph

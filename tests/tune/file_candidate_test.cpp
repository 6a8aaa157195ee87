#include <gtest/gtest.h>

#include "support/files.h"
#include "tune/candidates.h"

namespace fact::tune {
namespace {

namespace fs = std::filesystem;

// y = a @ b, prepared by a first launch that fills a workspace.
LaunchRecord record() {
    LaunchRecord r;
    r.kernel = "linear";
    r.arch = "sm90a";
    r.schedule = "tile";
    r.params = {{"a", DType::bf16, 2}, {"b", DType::bf16, 2}};
    r.outputs = {{"y", DType::f32, 2}};
    r.workspaces = {Workspace{DType::f32, {ExtentField{{{1, 0}}}}, 2}};
    r.alignments = {{1, 16}, {3, 16}};
    Launch prepare, product;
    prepare.entry = "linear_split";
    prepare.prepares_from = {1};
    product.entry = "linear";
    for (Launch* launch : {&prepare, &product}) {
        launch->block = 128;
        launch->grid = LinearGrid{};
    }
    r.launches = {prepare, product};
    return r;
}

class FileCandidate : public testing::Test {
  protected:
    fs::path write(const char* name, const std::string& text) const {
        EXPECT_TRUE(write_file_atomic(folder_.path() / name, text).ok());
        return folder_.path() / name;
    }
    TemporaryFolder folder_{fs::temp_directory_path(), "fact-file"};
};

TEST_F(FileCandidate, TakesTheEntryNames) {
    const auto file = write("hang.cu", "// fact-fault: hang\nFACT_ENTRIES(DEFINE)\n");
    const auto c = file_candidate(file, record());
    ASSERT_TRUE(c.ok()) << c.error().text();
    EXPECT_EQ(c->name, "hang");
    EXPECT_EQ(c->fault, "hang");
    EXPECT_EQ(c->record.schedule, "hang.cu");
    EXPECT_EQ(c->record.launches.size(), 2u);
    EXPECT_EQ(c->source,
              "#define FACT_ENTRY linear\n#define FACT_ENTRIES(X) X(linear_split) X(linear)\n"
              "#define FACT_TENSORS 4\n#define FACT_TYPE_0 bf16\n#define FACT_TYPE_1 bf16\n"
              "#define FACT_TYPE_2 float\n// fact-fault: hang\nFACT_ENTRIES(DEFINE)\n");
    EXPECT_FALSE(file_candidate(folder_.path() / "none.cu", record()).ok());
}

TEST_F(FileCandidate, PutsItsOwnHeadersInPlace) {
    write("inner.cuh", "int inner;\n");
    write("outer.cuh", "#include \"inner.cuh\"\nint outer;\n");
    const auto file = write("k.cu",
                            "#include \"outer.cuh\"  // both\n#include \"inner.cuh\"\n"
                            "#include \"sm90/product.cuh\"\nint last;\n");
    const auto c = file_candidate(file, record());
    ASSERT_TRUE(c.ok()) << c.error().text();
    EXPECT_TRUE(c->source.ends_with(
        "int inner;\n\nint outer;\n\n\n#include \"sm90/product.cuh\"\nint last;\n"))
        << c->source;
}

TEST_F(FileCandidate, PlainArgumentsAreOneStruct) {
    const auto file = write("k.cu", "// fact-arguments: plain\n");
    const auto c = file_candidate(file, record());
    ASSERT_TRUE(c.ok()) << c.error().text();
    const LaunchRecord& r = c->record;
    EXPECT_EQ(inconsistency(r), "");
    ASSERT_EQ(r.launches.size(), 1u);
    EXPECT_EQ(r.launches[0].entry, "linear");
    EXPECT_TRUE(r.launches[0].prepares_from.empty());
    // What was said of the workspace that is gone goes with it.
    EXPECT_EQ(r.alignments, (std::vector<Alignment>{{1, 16}}));
    ASSERT_EQ(r.workspaces.size(), 1u);
    EXPECT_EQ(r.workspaces[0].dtype, DType::f32);

    const auto& arguments = std::get<StructParam>(r.launches[0].params.at(0));
    EXPECT_EQ(arguments.bytes, 4 * 56);
    const auto has = [&](int offset, const Field& field) {
        for (const auto& member : arguments.members)
            if (member.offset == offset) return member.field == field;
        return false;
    };
    EXPECT_TRUE(has(0, PointerField{0}));
    EXPECT_TRUE(has(56 + 8, StrideField{1, 0}));
    EXPECT_TRUE(has(56 + 24, StrideField{1, kNoDim}));
    EXPECT_TRUE(has(112 + 40, ExtentField{{{2, 0}}}));
    EXPECT_TRUE(has(112 + 52, ExtentField{}));
    EXPECT_TRUE(has(168, PointerField{3}));

    LaunchRecord large = record();
    large.params[0].rank = 5;
    const auto refused = file_candidate(file, large);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("tensor 0 has 5 dimensions"), std::string::npos);
}

}  // namespace
}  // namespace fact::tune

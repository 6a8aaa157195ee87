#include "index/collection.h"

#include "good_records.h"
#include "index/build.h"

namespace fact::index {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
  protected:
    TemporaryFolder folder_{fs::temp_directory_path(), "fact-index"};
    fs::path arch_ = folder_.path() / "sm90a";
    std::vector<Example> two_ = examples_from({good(4096), good(64)});

    std::string counts(const Changes& c) const {
        return std::to_string(c.added) + std::to_string(c.changed) + std::to_string(c.removed) +
               std::to_string(c.kept);
    }
};

TEST_F(Folder, HoldsExactlyWhatWasMadeAndASecondTimeChangesNothing) {
    ASSERT_EQ(two_.size(), 2u);
    EXPECT_EQ(counts(*write_examples(arch_, two_)), "2000");
    EXPECT_EQ(counts(*write_examples(arch_, two_)), "0002");
    ASSERT_TRUE(write_file_atomic(arch_ / "mine.fact", "kernel of somebody else\n"));
    ASSERT_TRUE(write_file_atomic(arch_ / "cards.md", "# none\n"));
    two_.pop_back();
    two_.front().time_us = 50;
    EXPECT_EQ(counts(*write_examples(arch_, two_)), "0110");
    EXPECT_TRUE(fs::exists(arch_ / "mine.fact"));
    EXPECT_TRUE(fs::exists(arch_ / "cards.md"));
}

// Of a record whose text names no dimension, from the registry to the index and back.
TEST_F(Folder, ExamplesMayHaveNoNamedExtents) {
    auto record = good();
    record.work.text =
        "kernel linear_bias(x: bf16[4096, 768], w: bf16[3072, 768], bias: bf16[3072]) -> (y: "
        "bf16[4096, 3072]) {\n"
        "  acc = x @ w.T\n"
        "  y   = acc + bias\n"
        "}\n";
    record.work.extents.clear();
    const auto made = examples_from({record});
    ASSERT_EQ(made.size(), 1u);
    EXPECT_TRUE(made.front().extents.empty());
    ASSERT_TRUE(write_examples(arch_, made));
    const auto read = read_collection(folder_.path(), "sm90a");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->damaged.empty()) << read->damaged.front();
    ASSERT_EQ(read->entries.size(), 1u);
    EXPECT_EQ(read->entries.front().example, made.front());
    EXPECT_EQ(read->entries.front().features.sizes.m, 4096);
    EXPECT_EQ(counts(*write_examples(arch_, made)), "0001");
}

TEST_F(Folder, IsReadWithWhatIsDamagedNamed) {
    ASSERT_TRUE(write_examples(arch_, two_));
    ASSERT_TRUE(write_file_atomic(arch_ / "torn.fact", to_file(two_.front()).substr(0, 100)));
    auto other = two_.front();
    other.text = "kernel nothing\n";
    ASSERT_TRUE(write_file_atomic(arch_ / "old.fact", to_file(other)));
    ASSERT_TRUE(write_file_atomic(arch_ / "cards.md", "## No card\n"));
    const auto read = read_collection(folder_.path(), "sm90a");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->entries.size(), 2u);
    EXPECT_EQ(read->entries.front().features.count("@"), 1);
    ASSERT_EQ(read->damaged.size(), 3u);
    EXPECT_NE(read->damaged[0].find("example old"), std::string::npos);
    EXPECT_NE(read->damaged[1].find("example torn"), std::string::npos);
    EXPECT_NE(read->damaged[2].find("cards.md:1"), std::string::npos);
}

TEST_F(Folder, OfAnotherArchitectureIsAnError) {
    ASSERT_TRUE(write_examples(arch_, two_));
    for (const auto* arch : {"sm80", "", "../x"}) {
        const auto read = read_collection(folder_.path(), arch);
        ASSERT_FALSE(read) << arch;
        EXPECT_TRUE(read.error().bad_input);
        EXPECT_EQ(read.error().hint, "there are some for sm90a");
    }
}

}  // namespace
}  // namespace fact::index

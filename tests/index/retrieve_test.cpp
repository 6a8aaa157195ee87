#include "index/retrieve.h"

#include "texts.h"

namespace fact::index {
namespace {

std::string names(const std::vector<Found>& found) {
    std::string all;
    for (const auto& one : found) all += one.entry->example.name + " ";
    return all;
}

TEST(Nearest, AreTheSameStructureFirst) {
    const std::vector<Entry> entries{
        entry("gelu", linear_text("gelu(acc)")), entry("norm", rows_text("layer_norm(x, over: N)")),
        entry("plain", linear_text("acc")), entry("softmax", rows_text("softmax(x, over: N)"))};
    EXPECT_EQ(names(nearest(entries, of(linear_text("silu(acc)")), 2)), "gelu plain ");
    EXPECT_EQ(names(nearest(entries, of(rows_text("log_softmax(x, over: N)")), 1)), "softmax ");
    EXPECT_EQ(nearest(entries, of(linear_text("acc")), 9).size(), 4u);
    EXPECT_TRUE(nearest({}, of(linear_text("acc")), 3).empty());
}

TEST(Nearest, SizesDecideBetweenTheSameStructure) {
    const auto at = [](std::int64_t m) { return Extents{{"M", m}, {"N", 1024}, {"K", 768}}; };
    const auto text = linear_text("gelu(acc)");
    const std::vector<Entry> entries{entry("large", text, at(65536)),
                                     entry("small", text, at(512))};
    EXPECT_EQ(names(nearest(entries, of(text, at(1024)), 1)), "small ");
    EXPECT_EQ(names(nearest(entries, of(text, at(32768)), 1)), "large ");
}

TEST(Nearest, AnotherStructureComesBeforeTheSameAtAnotherSize) {
    const auto at = [](std::int64_t m) { return Extents{{"M", m}, {"N", 1024}, {"K", 768}}; };
    const auto text = linear_text("gelu(acc)");
    const std::vector<Entry> entries{
        entry("a", text, at(1024)), entry("b", text, at(2048)), entry("c", text, at(4096)),
        entry("other", linear_text("acc"), at(1024)), entry("rows", rows_text("exp(x)"))};
    // What has nothing in common does not come before it.
    EXPECT_EQ(names(nearest(entries, of(text, at(1024)), 3)), "a other b ");
}

TEST(Nearest, EquallyNearOnesComeByName) {
    const auto text = linear_text("acc");
    const std::vector<Entry> entries{entry("b", text), entry("c", text), entry("a", text)};
    EXPECT_EQ(names(nearest(entries, of(text), 3)), "a b c ");
}

}  // namespace
}  // namespace fact::index

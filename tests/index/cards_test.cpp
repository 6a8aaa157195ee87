#include "index/cards.h"

#include <algorithm>

#include "support/files.h"
#include "texts.h"

namespace fact::index {
namespace {

const std::string kTwo =
    "# Cards\nwhat they are\n\n## Short sums\nApplies: product, type 16-bit, K <= 1024\nDo this.\n"
    "And that.\nEvidence: 3 of 3 records.\n\n## Norms\nApplies: norm, no product\nDo so.\n"
    "Evidence: 1.0 us\n";

std::string titles(const std::vector<Card>& cards) {
    std::string all;
    for (const auto& card : cards) all += card.title + "; ";
    return all;
}

TEST(Cards, AreReadFromTheirFile) {
    const auto cards = cards_from_file(kTwo);
    ASSERT_TRUE(cards) << cards.error().message;
    ASSERT_EQ(cards->size(), 2u);
    const Card& card = cards->front();
    EXPECT_EQ(card.title, "Short sums");
    EXPECT_EQ(card.advice, "Do this. And that.");
    EXPECT_EQ(card.evidence, "3 of 3 records.");
    using Kind = Condition::Kind;
    EXPECT_EQ(card.applies,
              (std::vector<Condition>{
                  {Kind::has, "@", 0}, {Kind::type, "16-bit", 0}, {Kind::at_most, "K", 1024}}));
}

TEST(Cards, WhatIsWrongIsNamedByItsLine) {
    const auto why = [](const std::string& text) {
        const auto cards = cards_from_file(text);
        return cards ? "" : cards.error().message;
    };
    EXPECT_EQ(why("## A\nApplies: norm\nDo.\n"),
              "cards.md:3: the card that ends here has no line 'Evidence:'");
    EXPECT_EQ(why("## A\nDo.\nEvidence: x\n## B\n"),
              "cards.md:4: the card that ends here has no line 'Applies:'");
    EXPECT_EQ(why("## A\nApplies: K <= many\n"),
              "cards.md:2: the condition 'K <= many' cannot be read");
    EXPECT_EQ(why("## A\nApplies: norm, \n"), "cards.md:2: the condition '' cannot be read");
    EXPECT_EQ(why("## A\nApplies: norm\nEvidence: x\nDo.\n"),
              "cards.md:4: a line follows the card's evidence, which must be its last line");
}

TEST(Cards, FitWhatTheyAreAbout) {
    const auto cards = cards_from_file(kTwo);
    ASSERT_TRUE(cards);
    const auto fit = [&](const Features& features) {
        return titles(fitting_cards(*cards, features, 3));
    };
    EXPECT_EQ(fit(of(linear_text("acc"), {{"K", 768}})), "Short sums; ");
    EXPECT_EQ(fit(of(linear_text("acc", "f16"), {{"K", 1024}})), "Short sums; ");
    EXPECT_EQ(fit(of(linear_text("acc"), {{"K", 4096}})), "");
    EXPECT_EQ(fit(of(linear_text("acc"))), "Short sums; ");  // the card itself says for which K
    EXPECT_EQ(fit(of(linear_text("acc", "f32"), {{"K", 768}})), "");
    EXPECT_EQ(fit(of(rows_text("layer_norm(x, over: N)"))), "Norms; ");
}

TEST(Cards, TheMostParticularComeFirst) {
    const auto cards = cards_from_file(
        "## A\nApplies: product\nx\nEvidence: 1\n## B\nApplies: product, gelu\nx\nEvidence: 1\n"
        "## C\nApplies: product >= 2\nx\nEvidence: 1\n## D\nApplies: gelu\nx\nEvidence: 1\n");
    ASSERT_TRUE(cards) << cards.error().message;
    EXPECT_EQ(titles(fitting_cards(*cards, of(linear_text("gelu(acc)")), 2)), "B; A; ");
}

// A card that fits nothing we know how to write is a mistake in its conditions.
TEST(Cards, ShippedOnesHaveEvidenceAndAUse) {
    const std::filesystem::path index = std::filesystem::path(FACT_SOURCE_DIR) / "index";
    const auto file = read_file(index / "sm90a" / "cards.md");
    ASSERT_TRUE(file) << file.error().message;
    const auto cards = cards_from_file(*file);
    ASSERT_TRUE(cards) << cards.error().message;
    EXPECT_GE(cards->size(), 8u);
    const auto collection = read_collection(index, "sm90a");
    ASSERT_TRUE(collection) << collection.error().message;
    for (const auto& card : *cards) {
        EXPECT_NE(card.evidence.find_first_of("0123456789"), std::string::npos) << card.title;
        EXPECT_LE(card.advice.size() + card.evidence.size(), 600u) << card.title;
        const bool used = std::ranges::any_of(
            collection->entries, [&](const Entry& entry) { return applies(card, entry.features); });
        EXPECT_TRUE(used) << card.title;
    }
}

}  // namespace
}  // namespace fact::index

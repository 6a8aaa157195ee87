// Rule cards: short advice with its evidence, in one file that people read too.
//
//   ## Sums of up to 1024: ping-pong 128x128
//   Applies: product, type 16-bit, K <= 1024
//   One or two sentences of advice.
//   Evidence: numbers from records or results
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "index/features.h"
#include "support/result.h"

namespace fact::index {

// A condition on a computation; a card applies if all of its conditions hold.
struct Condition {
    enum class Kind { has, lacks, type, at_most, at_least };
    Kind kind = Kind::has;
    // A feature ("norm", "product"), an element type ("f32", "16-bit"), or a size (M, N, K, batch).
    std::string what;
    std::int64_t extent = 0;  // the limit of at_most and at_least, for a size or a feature's count
    bool operator==(const Condition&) const = default;
};

struct Card {
    std::string title;
    std::vector<Condition> applies;
    std::string advice, evidence;
    bool operator==(const Card&) const = default;
};

// Every card of the file; lines before the first card are an introduction. An Error names the line
// that is wrong.
Result<std::vector<Card>> cards_from_file(std::string_view file);

// A condition on an unknown size counts as met: the reader sees from the card what it is about.
bool applies(const Card& card, const Features& features);

// The cards that apply, at most `most`; those with more conditions first.
std::vector<Card> fitting_cards(const std::vector<Card>& cards, const Features& features,
                                std::size_t most);

}  // namespace fact::index

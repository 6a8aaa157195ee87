#include "index/cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "support/result.h"

namespace fact::index {

namespace {

constexpr std::string_view kApplies = "Applies: ", kEvidence = "Evidence: ";

// The feature that a card's word stands for: a card says "product", the steps of a text say "@".
std::string feature(std::string_view word) {
    return word == "product" ? "@" : std::string(word);
}

bool is_size(std::string_view word) {
    return word == "M" || word == "N" || word == "K" || word == "batch";
}

std::optional<Condition> read_condition(std::string_view text) {
    for (const auto& [sign, kind] :
         {std::pair{" <= ", Condition::Kind::at_most}, {" >= ", Condition::Kind::at_least}}) {
        const auto at = text.find(sign);
        if (at == text.npos) continue;
        Condition condition{kind, std::string(text.substr(0, at)), 0};
        const char *begin = text.data() + at + 4, *end = text.data() + text.size();
        const auto [stop, failure] = std::from_chars(begin, end, condition.extent);
        if (!is_size(condition.what)) condition.what = feature(condition.what);
        if (failure != std::errc() || stop != end) return std::nullopt;
        return condition;
    }
    if (text.starts_with("type "))
        return Condition{Condition::Kind::type, std::string(text.substr(5)), 0};
    if (text.starts_with("no "))
        return Condition{Condition::Kind::lacks, feature(text.substr(3)), 0};
    if (text.empty()) return std::nullopt;
    return Condition{Condition::Kind::has, feature(text), 0};
}

// A size or a count; nullopt if it is not known.
std::optional<std::int64_t> amount(const Features& features, const std::string& what) {
    const auto& sizes = features.sizes;
    if (!is_size(what)) return features.count(what);
    return what == "M" ? sizes.m : what == "N" ? sizes.n : what == "K" ? sizes.k : sizes.batch;
}

bool has_type(const Features& features, const std::string& type) {
    if (type == "16-bit") return features.types.contains("f16") || features.types.contains("bf16");
    return features.types.contains(type);
}

bool holds(const Condition& condition, const Features& features) {
    const auto size = amount(features, condition.what);
    switch (condition.kind) {
        case Condition::Kind::has:
            return features.count(condition.what) > 0;
        case Condition::Kind::lacks:
            return features.count(condition.what) == 0;
        case Condition::Kind::type:
            return has_type(features, condition.what);
        case Condition::Kind::at_most:
            return !size || *size <= condition.extent;
        case Condition::Kind::at_least:
            return !size || *size >= condition.extent;
    }
    throw InternalError("a condition that nothing tests");
}

// Adds a line to a card; returns what is wrong with the line, or "".
std::string add_line(Card& card, std::string_view line) {
    if (line.starts_with(kApplies)) {
        if (!card.applies.empty()) return "the card has a second 'Applies:'";
        auto rest = line.substr(kApplies.size());
        while (true) {
            const auto comma = rest.find(", ");
            const auto condition = read_condition(rest.substr(0, comma));
            if (!condition)
                return fmt::format("the condition '{}' cannot be read", rest.substr(0, comma));
            card.applies.push_back(*condition);
            if (comma == rest.npos) return "";
            rest.remove_prefix(comma + 2);
        }
    }
    if (line.starts_with(kEvidence)) {
        if (!card.evidence.empty()) return "the card has a second 'Evidence:'";
        card.evidence = line.substr(kEvidence.size());
        return "";
    }
    if (!card.evidence.empty())
        return "a line follows the card's evidence, which must be its last line";
    if (!card.advice.empty()) card.advice += " ";
    card.advice += line;
    return "";
}

// What the card, which ends at the current line, lacks; "" if it is complete.
std::string missing(const Card& card) {
    return card.title.empty()      ? "the card that ends here has no title"
           : card.applies.empty()  ? "the card that ends here has no line 'Applies:'"
           : card.advice.empty()   ? "the card that ends here has no advice"
           : card.evidence.empty() ? "the card that ends here has no line 'Evidence:'"
                                   : "";
}

}  // namespace

Result<std::vector<Card>> cards_from_file(std::string_view file) {
    std::vector<Card> cards;
    int number = 0;
    const auto wrong = [&](std::string_view what) {
        return Error{fmt::format("cards.md:{}: {}", number, what),
                     "a card is a heading, 'Applies:', advice and 'Evidence:'"};
    };
    while (!file.empty()) {
        const auto end = std::min(file.find('\n'), file.size());
        const auto line = file.substr(0, end);
        file.remove_prefix(std::min(end + 1, file.size()));
        ++number;
        if (line.starts_with("## ")) {
            if (!cards.empty())
                if (const auto what = missing(cards.back()); !what.empty()) return wrong(what);
            cards.push_back({std::string(line.substr(3)), {}, "", ""});
        } else if (!line.empty() && !cards.empty()) {
            if (const auto what = add_line(cards.back(), line); !what.empty()) return wrong(what);
        }
    }
    if (!cards.empty())
        if (const auto what = missing(cards.back()); !what.empty()) return wrong(what);
    return cards;
}

bool applies(const Card& card, const Features& features) {
    return std::ranges::all_of(
        card.applies, [&](const Condition& condition) { return holds(condition, features); });
}

std::vector<Card> fitting_cards(const std::vector<Card>& cards, const Features& features,
                                std::size_t most) {
    std::vector<Card> fit;
    std::ranges::copy_if(cards, std::back_inserter(fit),
                         [&](const Card& card) { return applies(card, features); });
    std::ranges::stable_sort(fit, std::ranges::greater{},
                             [](const Card& card) { return card.applies.size(); });
    if (fit.size() > most) fit.resize(most);
    return fit;
}

}  // namespace fact::index

#include "agent/generalize.h"

#include <algorithm>
#include <array>
#include <set>

#include "dsl/dimension_words.h"
#include "graph/arguments.h"

namespace fact::agent {

namespace {

using dsl::DimensionWords;
using Words = std::set<std::string, std::less<>>;
using Replacements = std::map<std::string, std::string, std::less<>>;

bool is_number(std::string_view word) {
    return word.front() >= '0' && word.front() <= '9';
}

// The numbers by which operators split a dimension: the same in every module that has them.
Words fixed_by(const graph::Graph& operators) {
    constexpr std::array<std::string_view, 3> kCounts{"num_groups", "groups", "kernel_size"};
    Words fixed;
    for (const auto& node : operators.nodes)
        for (const std::string_view name : kCounts)
            for (const auto count : graph::ints_argument(node, name))
                if (count > 1) fixed.insert(std::to_string(count));
    return fixed;
}

// `text` with words in dimensions replaced.
std::string replaced(const std::string& text, const Replacements& by) {
    const auto [of_params, elsewhere] = dsl::find_dimensions(text);
    std::vector<std::string_view> words;
    for (const auto* list : {&of_params, &elsewhere})
        for (const DimensionWords& dim : *list)
            for (const std::string_view word : dim)
                if (by.contains(word)) words.push_back(word);
    std::ranges::sort(words, {}, [](std::string_view word) { return word.data(); });
    std::string out;
    std::size_t done = 0;
    for (const std::string_view word : words) {
        const auto at = static_cast<std::size_t>(word.data() - text.data());
        out += text.substr(done, at - done) + by.find(word)->second;
        done = at + word.size();
    }
    return out + text.substr(done);
}

// A letter that is not a word of the text; "" if there is none left.
std::string unused_symbol(const std::string& text) {
    const auto is_word_part = [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
    };
    for (const char letter : std::string_view("PQRSTUVWXYZABCDEFGHIJKLMNO")) {
        bool taken = false;
        for (std::size_t i = 0; i < text.size() && !taken; ++i)
            taken = text[i] == letter && (i == 0 || !is_word_part(text[i - 1])) &&
                    (i + 1 == text.size() || !is_word_part(text[i + 1]));
        if (!taken) return {letter};
    }
    return {};
}

// Symbols that are only ever a factor of a parameter's dimension, and whose extent is fixed.
Replacements fixed_symbols(const std::vector<DimensionWords>& of_params,
                           const std::map<std::string, std::int64_t>& extents, const Words& fixed) {
    Replacements out;
    for (const auto& [symbol, extent] : extents) {
        const bool alone = std::ranges::any_of(of_params, [&](const DimensionWords& dim) {
            return dim.size() == 1 && dim.front() == symbol;
        });
        if (!alone && fixed.contains(std::to_string(extent))) out[symbol] = std::to_string(extent);
    }
    return out;
}

// The number to replace next in a parameter's dimension that has no symbol: the largest that
// nothing fixes (the 256 of `2*256`), in dimensions with few factors first (the 8 of `32*8` before
// that of `2*32*8`). "" if all were tried.
std::string next_number(const std::string& text, const Words& fixed, const Words& tried) {
    auto dims = dsl::find_dimensions(text).of_params;
    std::ranges::stable_sort(dims, {}, [](const auto& dim) { return dim.size(); });
    for (DimensionWords& dim : dims) {
        if (!std::ranges::all_of(dim, is_number)) continue;
        std::erase_if(dim, [&](auto word) { return word == "1" || fixed.contains(word); });
        if (dim.empty()) continue;
        // Words compare as numbers in this way, since none has leading zeros.
        const auto largest =
            std::ranges::max(dim, {}, [](auto word) { return std::pair(word.size(), word); });
        if (!tried.contains(largest)) return std::string(largest);
    }
    return {};
}

}  // namespace

std::string generalize(std::string text, const graph::Graph& operators,
                       const std::map<std::string, std::int64_t>& extents,
                       const std::function<bool(const std::string&)>& fits) {
    const auto fixed = fixed_by(operators);
    const auto keep_if_fits = [&](std::string other) {
        if (other != text && fits(other)) text = std::move(other);
    };
    keep_if_fits(
        replaced(text, fixed_symbols(dsl::find_dimensions(text).of_params, extents, fixed)));
    // One after the other: a number that became a symbol may determine others.
    Words tried;
    for (auto number = next_number(text, fixed, tried); !number.empty();
         number = next_number(text, fixed, tried)) {
        tried.insert(number);
        const auto symbol = unused_symbol(text);
        if (symbol.empty()) break;
        keep_if_fits(replaced(text, {{number, symbol}}));
    }
    return text;
}

}  // namespace fact::agent

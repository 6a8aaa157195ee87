#include "dsl/words.h"

#include <algorithm>

#include "dsl/prelude.h"
#include "ir/functions.h"
#include "target/dtype.h"

namespace fact::dsl {

bool is_reserved(std::string_view word) {
    static constexpr std::string_view kKeywords[] = {
        "kernel", "schedule", "pipeline", "stored", "and", "or", "not", "true", "false", "inf"};
    return std::count(std::begin(kKeywords), std::end(kKeywords), word) ||
           std::any_of(kSpecial.begin(), kSpecial.end(),
                       [&](const SpecialInfo& row) { return row.name == word; }) ||
           ir::find_unary_function(word) || ir::find_binary_function(word) ||
           ir::find_reduction(word) || ir::find_scan(word) || dtype_from_name(word);
}

bool is_function(std::string_view word) {
    const auto names = function_names();
    return std::find(names.begin(), names.end(), word) != names.end();
}

std::vector<std::string> function_names() {
    std::vector<std::string> names;
    for (const auto& row : kSpecial) names.emplace_back(row.name);
    for (const auto& row : kComposites) names.emplace_back(row.name);
    for (const auto& row : ir::kUnary)
        if (ir::find_unary_function(row.name)) names.emplace_back(row.name);
    for (const auto& row : ir::kBinary)
        if (ir::find_binary_function(row.name)) names.emplace_back(row.name);
    for (const auto& row : ir::kReductions) names.emplace_back(row.name);
    for (const auto& row : ir::kScans) names.emplace_back(row.name);
    for (const auto& row : kDTypes)
        if (row.dtype != DType::f64) names.emplace_back(row.name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

bool is_valid_name(std::string_view word) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !word.empty() && is_letter(word[0]) && !is_reserved(word) &&
           std::all_of(word.begin(), word.end(),
                       [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace fact::dsl

#include "dsl/name_table.h"

#include "dsl/lexer.h"
#include "dsl/words.h"

namespace fact::dsl {

constexpr std::size_t kLongest = kMaxNameBytes - 16;  // leaves room for a number

std::string NameTable::claim(std::string_view wanted, std::string_view fallback) {
    std::string name((wanted.empty() ? fallback : wanted).substr(0, kLongest));
    for (char& c : name)
        if (!is_valid_name(std::string("_") + c)) c = '_';
    if (name[0] >= '0' && name[0] <= '9') name.insert(0, 1, '_');
    if (is_valid_name(name) && taken_.insert(name).second) return name;
    return numbered(name);
}

std::string NameTable::numbered(const std::string& stem) {
    int& next = next_.try_emplace(stem, taken_.count(stem) ? 2 : 1).first->second;
    while (true) {
        const std::string candidate = stem + std::to_string(next++);
        if (is_valid_name(candidate) && taken_.insert(candidate).second) return candidate;
    }
}

}  // namespace fact::dsl

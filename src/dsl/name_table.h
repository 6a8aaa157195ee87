// Names for printing: valid, unique, and the wanted ones if possible.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace fact::dsl {

class NameTable {
  public:
    // `wanted` (or `fallback` if that is empty) made valid, with a number appended if it is taken.
    std::string claim(std::string_view wanted, std::string_view fallback);
    // "t1", "t2", ...
    std::string numbered(const std::string& stem);

  private:
    std::unordered_set<std::string> taken_;
    std::unordered_map<std::string, int> next_;  // by stem: the next number to try
};

}  // namespace fact::dsl

// Names for printing: valid, unique, and the wanted ones where that is possible.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace fact::dsl {

class NameTable {
  public:
    // `wanted` made valid, with a number behind it where the name is taken.
    std::string claim(std::string_view wanted, std::string_view otherwise);
    // "t1", "t2", ...
    std::string numbered(const std::string& stem);

  private:
    std::unordered_set<std::string> taken_;
    std::unordered_map<std::string, int> next_;  // number to try for a stem
};

}  // namespace fact::dsl

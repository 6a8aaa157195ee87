// Plain ASCII tables, and the format of numbers in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fact {

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
};

class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    // Missing cells are empty.
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    bool empty() const { return rows_.empty(); }
    // Titles, a horizontal line if `ruled`, and rows. Lines start with `indent` and have no
    // trailing blanks.
    std::string text(std::string_view indent = "  ", bool ruled = true) const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

// "812 ns", "12.3 us", "4.56 ms", "1.23 s".
std::string duration(double microseconds);
// "1.23 k", "4.56 M", "7.89 G", "1.01 T": three digits and a prefix, for flops and bytes.
std::string quantity(double value);
// The text on one line, cut off after `width` characters.
std::string one_line(std::string_view text, std::size_t width = 160);
// "1 pattern", "3 patterns".
std::string counted(std::size_t count, std::string_view what);
}  // namespace fact

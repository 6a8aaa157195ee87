// Plain ASCII tables and the spelling of numbers in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fact::report {

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
    // Header, rule, rows; each line starts with `indent` and has no trailing blanks.
    std::string text(std::string_view indent = "  ") const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

// "812 ns", "12.3 us", "4.56 ms", "1.23 s".
std::string duration(double microseconds);
// "1.23 k", "4.56 M", "7.89 G", "1.01 T": three digits and a prefix, for flops and bytes.
std::string quantity(double value);
// The text on one line, cut where it gets too long for a table.
std::string one_line(std::string_view text, std::size_t width = 160);
// "64x128x64 c2x1 pingpong stages 8": a schedule without what is the same in all of them.
std::string short_schedule(std::string_view schedule);
// "1 pattern", "3 patterns".
std::string counted(std::size_t count, std::string_view what);
// "1.2e-03", or "0".
std::string error_text(double value);

}  // namespace fact::report

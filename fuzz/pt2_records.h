// An archive as text, so that mutations reach its records: a checksum guards each in a zip.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../tests/graph/archive_builder.h"

namespace fact::graph::fuzz {

inline constexpr std::string_view kRecordMark = "\n==== ";  // its name and a newline follow

inline std::string to_text(const std::vector<testing::Record>& records) {
    std::string text;
    for (const testing::Record& record : records)
        text += std::string(kRecordMark) + record.name + "\n" + record.content;
    return text;
}

inline std::vector<testing::Record> records_of(std::string_view text) {
    std::vector<testing::Record> records;
    for (std::size_t at = text.find(kRecordMark); at != std::string_view::npos;) {
        const std::size_t name = at + kRecordMark.size();
        at = text.find(kRecordMark, name);
        const std::string_view record = text.substr(name, at == text.npos ? at : at - name);
        const std::size_t line = record.find('\n');
        if (line == std::string_view::npos) continue;
        records.push_back(
            {std::string(record.substr(0, line)), std::string(record.substr(line + 1))});
    }
    return records;
}

}  // namespace fact::graph::fuzz

#include "ir/source_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fact::ir {

SourceText::SourceText(std::string_view name, std::string_view text)
    : name_(name.substr(name.rfind('/') + 1)), line_begins_{0} {
    for (char& c : name_)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') line_begins_.push_back(static_cast<std::uint32_t>(i + 1));
}

std::string SourceText::line_of(Span span) const {
    if (span == Span{}) return "";
    const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), span.begin);
    return fmt::format("{}:{}", name_, after - line_begins_.begin());
}

}  // namespace fact::ir

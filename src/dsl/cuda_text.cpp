#include "dsl/cuda_text.h"

namespace fact::dsl {

namespace {

// By this line stored texts are recognized, so it must not change.
constexpr std::string_view kFirstLine =
    "# written in CUDA; what the kernel below computes is void\n";
constexpr std::string_view kPrefix = "#|";

}  // namespace

std::string cuda_text(std::string_view source, const std::string& interface) {
    std::string text(kFirstLine);
    while (!source.empty()) {
        const auto end = source.find('\n');
        auto line = source.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        text += std::string(kPrefix) + std::string(line) + "\n";
        source.remove_prefix(end == source.npos ? source.size() : end + 1);
    }
    return text + interface;
}

std::optional<std::string> cuda_source(std::string_view text) {
    if (!text.starts_with(kFirstLine)) return std::nullopt;
    text.remove_prefix(kFirstLine.size());
    std::string source;
    while (text.starts_with(kPrefix)) {
        const auto end = text.find('\n');
        source += std::string(text.substr(kPrefix.size(), end - kPrefix.size())) + "\n";
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return source;
}

}  // namespace fact::dsl

#include "index/example.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

namespace fact::index {

namespace {

// A line of the head: how its value is written, and read into an example.
struct Field {
    std::string_view key;
    std::string (*write)(const Example&);
    bool (*read)(Example&, std::string_view);
};

template <std::string Example::* member>
std::string write_text(const Example& example) {
    return example.*member;
}
template <std::string Example::* member>
bool read_text(Example& example, std::string_view value) {
    example.*member = value;
    return !value.empty();
}

bool read_number(std::string_view text, double& number) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failure == std::errc() && end == text.data() + text.size() && std::isfinite(number) &&
           number >= 0;
}

template <double Example::* member>
std::string write_time(const Example& example) {
    return fmt::format("{:.2f} us", example.*member);
}
template <double Example::* member>
bool read_time(Example& example, std::string_view value) {
    if (!value.ends_with(" us")) return false;
    value.remove_suffix(3);
    return read_number(value, example.*member) && example.*member > 0;
}

template <double Example::* member>
std::string write_error(const Example& example) {
    return fmt::format("{:.3g}", example.*member);
}
template <double Example::* member>
bool read_error(Example& example, std::string_view value) {
    return read_number(value, example.*member);
}

std::string write_extents(const Example& example) {
    std::string text;
    for (const auto& [dim, extent] : example.extents)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", dim, extent);
    return text;
}

bool read_extents(Example& example, std::string_view value) {
    while (!value.empty()) {
        const auto word = value.substr(0, value.find(' '));
        value.remove_prefix(std::min(word.size() + 1, value.size()));
        const auto equals = word.find('=');
        if (equals == word.npos || equals == 0) return false;
        std::int64_t extent = 0;
        const auto [end, failure] =
            std::from_chars(word.data() + equals + 1, word.data() + word.size(), extent);
        if (failure != std::errc() || end != word.data() + word.size() || extent < 1) return false;
        example.extents[std::string(word.substr(0, equals))] = extent;
    }
    return true;
}

constexpr Field kFields[] = {
    {"computes", write_text<&Example::computes>, read_text<&Example::computes>},
    {"from", write_text<&Example::from>, read_text<&Example::from>},
    {"measured", write_text<&Example::measured>, read_text<&Example::measured>},
    {"arch", write_text<&Example::arch>, read_text<&Example::arch>},
    {"gpu", write_text<&Example::gpu>, read_text<&Example::gpu>},
    {"extents", write_extents, read_extents},
    {"precision", write_text<&Example::precision>, read_text<&Example::precision>},
    {"schedule", write_text<&Example::schedule>, read_text<&Example::schedule>},
    {"time", write_time<&Example::time_us>, read_time<&Example::time_us>},
    {"torch", write_time<&Example::torch_us>, read_time<&Example::torch_us>},
    {"bound", write_time<&Example::bound_us>, read_time<&Example::bound_us>},
    {"error", write_error<&Example::error>, read_error<&Example::error>},
    {"torch error", write_error<&Example::torch_error>, read_error<&Example::torch_error>},
};

}  // namespace

std::string to_file(const Example& example) {
    std::string file;
    for (const Field& field : kFields)
        file += fmt::format("# {}: {}\n", field.key, field.write(example));
    return file + example.text;
}

Result<Example> example_from_file(std::string name, std::string_view file) {
    Example example;
    const auto wrong = [&](std::string_view what) {
        return Error{fmt::format("example {}: {}", name, what),
                     "`fact examples build` makes it again"};
    };
    for (const Field& field : kFields) {
        const auto head = fmt::format("# {}: ", field.key);
        const auto end = file.find('\n');
        if (!file.starts_with(head) || end == file.npos)
            return wrong(fmt::format("the line '{}' is missing or not in its place", head));
        const auto value = file.substr(head.size(), end - head.size());
        if (!field.read(example, value))
            return wrong(fmt::format("'{}{}' cannot be read", head, value));
        file.remove_prefix(end + 1);
    }
    if (file.empty()) return wrong("there is no kernel text");
    example.text = file;
    example.name = std::move(name);
    return example;
}

std::string times_line(const Example& example) {
    return fmt::format("{:.1f} us, torch {:.1f} us ({:.2f}x), bound {:.1f} us", example.time_us,
                       example.torch_us, example.torch_us / example.time_us, example.bound_us);
}

}  // namespace fact::index

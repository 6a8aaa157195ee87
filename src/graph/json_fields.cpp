#include "graph/json_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/json_depth.h"

namespace fact::graph {

using nlohmann::json;

namespace {

// Real programs nest about 15 deep; more for control flow.
constexpr int kMaxDepth = 256;

// Whether Infinity or NaN stand outside of strings.
bool has_bare_numbers(std::string_view text) {
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string && c == '\\')
            ++i;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == 'I' || c == 'N'))
            return true;
    }
    return false;
}

// Puts quotes around bare Infinity, -Infinity and NaN.
std::string quote_bare_numbers(std::string_view text) {
    std::string result;
    result.reserve(text.size() + 64);
    bool in_string = false;
    for (std::size_t i = 0; i < text.size();) {
        const std::string_view rest = text.substr(i);
        if (in_string) {
            const std::size_t length = rest[0] == '\\' && rest.size() > 1 ? 2 : 1;
            if (rest[0] == '"') in_string = false;
            result += rest.substr(0, length);
            i += length;
            continue;
        }
        std::size_t matched = 0;
        for (const std::string_view token : {"-Infinity", "Infinity", "NaN"})
            if (rest.starts_with(token)) matched = token.size();
        if (matched > 0) {
            result += fmt::format("\"{}\"", rest.substr(0, matched));
            i += matched;
            continue;
        }
        if (rest[0] == '"') in_string = true;
        result += rest[0];
        ++i;
    }
    return result;
}

[[noreturn]] void wrong_kind(const json& value, const char* expected) {
    throw SchemaError(fmt::format("expected {}, found {}", expected, value.type_name()));
}

// Without the library's own name for the mistake, and of strangers' bytes only what can be shown.
std::string in_plain_text(std::string_view what) {
    if (what.starts_with('[')) what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
    std::string text(what);
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

}  // namespace

json parse_json(std::string_view text) {
    if (const int depth = json_depth(text); depth > kMaxDepth)
        throw SchemaError(fmt::format("JSON nested {} deep (at most {})", depth, kMaxDepth));
    try {
        return has_bare_numbers(text) ? json::parse(quote_bare_numbers(text)) : json::parse(text);
    } catch (const json::exception& error) {
        throw SchemaError(fmt::format("not valid JSON ({})", in_plain_text(error.what())));
    }
}

const json& field(const json& object, const char* key) {
    const auto found = to_object(object).find(key);
    if (found == object.end()) throw SchemaError(fmt::format("field '{}' is missing", key));
    return *found;
}

const json* optional_field(const json& object, const char* key) {
    const auto found = to_object(object).find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

const json& to_array(const json& value) {
    if (!value.is_array()) wrong_kind(value, "a list");
    return value;
}

const json& to_object(const json& value) {
    if (!value.is_object()) wrong_kind(value, "an object");
    return value;
}

std::int64_t to_int(const json& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            throw SchemaError(fmt::format("{} does not fit 64 bits", number));
        return static_cast<std::int64_t>(number);
    }
    if (!value.is_number_integer()) wrong_kind(value, "an integer of at most 64 bits");
    return value.get<std::int64_t>();
}

double to_double(const json& value) {
    if (value.is_number()) return value.get<double>();
    if (!value.is_string()) wrong_kind(value, "a number");
    const auto& text = value.get_ref<const std::string&>();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    throw SchemaError(fmt::format("'{}' is not a number", text));
}

bool to_bool(const json& value) {
    if (!value.is_boolean()) wrong_kind(value, "true or false");
    return value.get<bool>();
}

const std::string& to_text(const json& value) {
    if (!value.is_string()) wrong_kind(value, "a string");
    return value.get_ref<const std::string&>();
}

nlohmann::ordered_json from_double(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

std::string dump_json(const nlohmann::ordered_json& value) {
    return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace fact::graph

#include "support/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace fact {

using nlohmann::json;

namespace {

// Exported programs nest about 15 deep, and deeper only for control flow.
constexpr int kMaxDepth = 256;

// How deep brackets outside strings nest. Checked before anything recurses over the text.
int depth_of(std::string_view text) {
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string && c == '\\') {
            ++i;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            deepest = std::max(deepest, ++depth);
        } else if (!in_string && (c == '}' || c == ']')) {
            --depth;
        }
    }
    return deepest;
}

// Whether Infinity or NaN may stand outside of strings: nothing else in JSON has an I or N there.
bool may_have_bare_numbers(std::string_view text) {
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

// The JSON library's message without its error code; bytes that cannot be shown become '?'.
std::string in_plain_text(std::string_view what) {
    if (what.starts_with('[')) what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
    std::string text(what);
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

decltype(auto) read_member(const json& object, const char* key, auto read) {
    const json& value = field(object, key);
    return at(key, [&]() -> decltype(auto) { return read(value); });
}

}  // namespace

template <class Json>
Json parse_json(std::string_view text) {
    if (const int depth = depth_of(text); depth > kMaxDepth)
        throw SchemaError(
            fmt::format("JSON is nested {} deep; at most {} is read", depth, kMaxDepth));
    try {
        return may_have_bare_numbers(text) ? Json::parse(quote_bare_numbers(text))
                                           : Json::parse(text);
    } catch (const json::exception& error) {
        throw SchemaError(fmt::format("not valid JSON ({})", in_plain_text(error.what())));
    }
}
template json parse_json(std::string_view text);
template nlohmann::ordered_json parse_json(std::string_view text);

template <class Json>
std::optional<Json> try_parse_json(std::string_view text) {
    try {
        return parse_json<Json>(text);
    } catch (const SchemaError&) {
        return std::nullopt;
    }
}
template std::optional<json> try_parse_json(std::string_view text);
template std::optional<nlohmann::ordered_json> try_parse_json(std::string_view text);

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

template <class Whole>
Whole to_int(const json& value) {
    constexpr int kBits = 8 * sizeof(Whole);
    if (!value.is_number_integer())
        wrong_kind(value, fmt::format("an integer of at most {} bits", kBits).c_str());
    const bool fits = value.is_number_unsigned() ? std::in_range<Whole>(value.get<std::uint64_t>())
                                                 : std::in_range<Whole>(value.get<std::int64_t>());
    if (!fits) throw SchemaError(fmt::format("{} does not fit {} bits", value.dump(), kBits));
    return value.get<Whole>();
}
template int to_int(const json& value);
template std::int64_t to_int(const json& value);

double to_finite(const json& value) {
    if (!value.is_number()) wrong_kind(value, "a number");
    return value.get<double>();
}

double to_double(const json& value) {
    if (!value.is_string()) return to_finite(value);
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

template <class Whole>
Whole get_int(const json& object, const char* key) {
    return read_member(object, key, to_int<Whole>);
}
template int get_int(const json& object, const char* key);
template std::int64_t get_int(const json& object, const char* key);

double get_finite(const json& object, const char* key) {
    return read_member(object, key, to_finite);
}

bool get_bool(const json& object, const char* key) {
    return read_member(object, key, to_bool);
}

const std::string& get_text(const json& object, const char* key) {
    return read_member(object, key, to_text);
}

std::vector<std::string> get_texts(const json& object, const char* key) {
    return read_member(object, key, [](const json& list) {
        std::vector<std::string> texts;
        for (const json& text : to_array(list)) texts.push_back(to_text(text));
        return texts;
    });
}

template <class Whole>
Whole get_int(const json& object, const char* key, Whole otherwise) {
    return optional_field(object, key) ? get_int<Whole>(object, key) : otherwise;
}
template int get_int(const json& object, const char* key, int otherwise);

double get_finite(const json& object, const char* key, double otherwise) {
    return optional_field(object, key) ? get_finite(object, key) : otherwise;
}

bool get_bool(const json& object, const char* key, bool otherwise) {
    return optional_field(object, key) ? get_bool(object, key) : otherwise;
}

std::string get_text(const json& object, const char* key, const std::string& otherwise) {
    return optional_field(object, key) ? get_text(object, key) : otherwise;
}

nlohmann::ordered_json from_double(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

std::string dump_json(const nlohmann::ordered_json& value) {
    return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace fact

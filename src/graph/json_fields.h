// Checked reading of JSON that others wrote: a field that is missing or of the wrong kind is a
// SchemaError naming it, never a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/result.h"

namespace fact::graph {

// Thrown inside a decoder only; decoding() turns it into an Error.
class SchemaError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Refuses nesting deeper than any real file has; accepts bare Infinity, -Infinity and NaN by
// reading them as strings.
nlohmann::json parse_json(std::string_view text);

// The member `key`; throws when `object` is not an object or lacks it.
const nlohmann::json& field(const nlohmann::json& object, const char* key);
// The same, nullptr when it is missing or null.
const nlohmann::json* optional_field(const nlohmann::json& object, const char* key);

const nlohmann::json& to_array(const nlohmann::json& value);
const nlohmann::json& to_object(const nlohmann::json& value);
std::int64_t to_int(const nlohmann::json& value);
// A number, or the text "Infinity", "-Infinity", "NaN".
double to_double(const nlohmann::json& value);
bool to_bool(const nlohmann::json& value);
const std::string& to_text(const nlohmann::json& value);

// JSON has no infinities: the inverse of to_double.
nlohmann::ordered_json from_double(double value);

// Indented text; bytes that are not UTF-8 are replaced rather than refused.
std::string dump_json(const nlohmann::ordered_json& value);

// Runs a decoder; its SchemaError becomes an Error that starts with `what`.
template <class T>
Result<T> decoding(const std::string& what, const std::string& hint,
                   const std::function<T()>& decode) {
    try {
        return decode();
    } catch (const SchemaError& error) {
        return Error{what + ": " + error.what(), hint};
    }
}

// Runs `body`; a SchemaError in it is thrown again with the place put before its message.
template <class Body>
auto at(const std::string& place, Body body) {
    try {
        return body();
    } catch (const SchemaError& error) {
        throw SchemaError(place + ": " + error.what());
    }
}

}  // namespace fact::graph

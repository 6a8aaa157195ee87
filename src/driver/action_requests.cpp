#include "driver/action_requests.h"

#include <fmt/format.h>

namespace fact::driver {

namespace {

// In bytes: the longest message of a candidate or a check that a reply quotes.
constexpr std::size_t kLongestWhy = 2000;

Error wrong_kind(std::string_view field, std::string_view kind) {
    return {fmt::format("'{}' has to be {}", field, kind), "see `fact act --list`", true};
}

}  // namespace

Result<std::string> text_field(const Json& request, const char* name, bool required) {
    if (!request.contains(name)) {
        if (required) return Error{fmt::format("'{}' is missing", name), "", true};
        return std::string();
    }
    if (!request[name].is_string()) return wrong_kind(name, "a string");
    return request[name].get<std::string>();
}

Result<int> count_field(const Json& request, const char* name, int if_missing) {
    if (!request.contains(name)) return if_missing;
    const auto& value = request[name];
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
        value.get<std::int64_t>() > 1'000'000)
        return wrong_kind(name, "a whole number from 0 to 1000000");
    return value.get<int>();
}

Result<std::vector<std::string>> names_field(const Json& request, const char* name) {
    if (!request.contains(name)) return Error{fmt::format("'{}' is missing", name), "", true};
    if (!request[name].is_array()) return wrong_kind(name, "a list of names");
    std::vector<std::string> names;
    for (const auto& entry : request[name]) {
        if (!entry.is_string()) return wrong_kind(name, "a list of names");
        names.push_back(entry.get<std::string>());
    }
    return names;
}

std::string shortened(std::string message) {
    if (message.size() > kLongestWhy) message = message.substr(0, kLongestWhy) + " ...";
    return message;
}

Json cost_json(const match::Cost& cost) {
    return {{"flops", cost.flops},
            {"least_bytes", cost.bytes},
            {"bound_us", cost.bound_us},
            {"expected_us", cost.expected_us},
            {"unfused_us", cost.unfused_us}};
}

}  // namespace fact::driver

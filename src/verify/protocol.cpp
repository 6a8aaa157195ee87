#include "verify/protocol.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/enum_table.h"
#include "support/json_fields.h"

namespace fact::verify {

using nlohmann::json;

namespace {

struct OutcomeName {
    Outcome outcome;
    std::string_view name;
};
constexpr auto kOutcomes = table_of<Outcome>([](Outcome outcome) -> std::optional<OutcomeName> {
    switch (outcome) {
        case Outcome::passed:
            return OutcomeName{outcome, "passed"};
        case Outcome::incorrect:
            return OutcomeName{outcome, "incorrect"};
        case Outcome::failed_to_build:
            return OutcomeName{outcome, "failed_to_build"};
        case Outcome::timed_out:
            return OutcomeName{outcome, "timed_out"};
        case Outcome::crashed:
            return OutcomeName{outcome, "crashed"};
        case Outcome::unsupported:
            return OutcomeName{outcome, "unsupported"};
        case Outcome::untried:
            return OutcomeName{outcome, "untried"};
    }
    return std::nullopt;
});

bool has_key(std::string_view text, const char* key) {
    const auto object = try_parse_json(text);
    return object && object->is_object() && object->contains(key);
}

// JSON has no infinities and no NaN, and errors may be either.
json number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

double number_from(const json& value) {
    if (!value.is_string()) return to_finite(value);
    const auto& text = to_text(value);
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    return text == "-inf" ? -std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::infinity();
}

json times(const Times& t) {
    return {{"median_us", number(t.median_us)},
            {"low_us", number(t.low_us)},
            {"high_us", number(t.high_us)},
            {"runs", t.runs}};
}

Times times_from(const json& object, const char* key) {
    const auto& t = field(object, key);
    return {number_from(field(t, "median_us")), number_from(field(t, "low_us")),
            number_from(field(t, "high_us")), get_int<int>(t, "runs")};
}

json errors(const ErrorPair& e) {
    return {{"largest", number(e.largest)}, {"rms", number(e.rms)}};
}

ErrorPair errors_from(const json& e) {
    return {number_from(field(e, "largest")), number_from(field(e, "rms"))};
}

json checks(const std::vector<Check>& list) {
    auto array = json::array();
    for (const auto& check : list)
        array.push_back({{"distribution", check.distribution},
                         {"seed", check.seed},
                         {"eager", errors(check.eager)},
                         {"kernel", errors(check.kernel)},
                         {"passed", check.passed},
                         {"why", check.why},
                         {"slice", number(check.slice)}});
    return array;
}

std::vector<Check> checks_from(const json& array) {
    std::vector<Check> list;
    for (const auto& item : to_array(array)) {
        const json* slice = optional_field(item, "slice");
        list.push_back({get_text(item, "distribution"), get_int<int>(item, "seed"),
                        errors_from(field(item, "eager")), errors_from(field(item, "kernel")),
                        get_bool(item, "passed"), get_text(item, "why"),
                        slice ? number_from(*slice) : 0});
    }
    return list;
}

std::string line(const json& object) {
    // Text from other programs may not be UTF-8; a reply must never be lost to that.
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Reads `text` with `read`; a SchemaError becomes an Error.
template <class T, class Read>
Result<T> parsed(std::string_view text, std::string_view what, Read read) {
    return decoding<T>(fmt::format("not a {}", what), "", [&] { return read(parse_json(text)); });
}

json launches(const std::vector<LaunchTime>& times) {
    json list = json::array();
    for (const auto& launch : times) list.push_back({{"entry", launch.entry}, {"us", launch.us}});
    return list;
}

}  // namespace

std::string_view name(Outcome outcome) {
    return kOutcomes[static_cast<std::size_t>(outcome)].name;
}

std::optional<Outcome> outcome_from_name(std::string_view name) {
    for (const auto& row : kOutcomes)
        if (row.name == name) return row.outcome;
    return std::nullopt;
}

std::string to_json(const OpenRequest& request) {
    return line({{"open",
                  {{"call", request.call},
                   {"kernel_text", request.kernel_text},
                   {"weights", request.weights},
                   {"device", request.device},
                   {"precision", json_of(request.precision)},
                   {"authored", request.authored},
                   {"check_text", request.check_text}}}});
}

std::string to_json(const OpenReply& reply) {
    return line(
        {{"error", reply.error}, {"text_checks", checks(reply.text_checks)}, {"note", reply.note}});
}

std::string to_json(const CandidateRequest& request) {
    return line({{"candidate",
                  {{"cubin", request.cubin},
                   {"record", request.record},
                   {"single_ms", request.single_ms},
                   {"sustained_ms", request.sustained_ms},
                   {"fault", request.fault},
                   {"proof", request.proof == Proof::quick ? "quick" : "full"}}}});
}

json json_of(const CandidateReply& reply) {
    return {{"outcome", name(reply.outcome)},
            {"why", reply.why},
            {"checks", checks(reply.checks)},
            {"single", times(reply.single)},
            {"baseline_single", times(reply.baseline_single)},
            {"sustained", times(reply.sustained)},
            {"baseline_sustained", times(reply.baseline_sustained)},
            {"launches", launches(reply.launches)},
            {"finding", name(reply.finding)},
            {"note", reply.note}};
}

std::string to_json(const CandidateReply& reply) {
    return line(json_of(reply));
}

bool is_open_request(std::string_view text) {
    return has_key(text, "open");
}

std::string close_request() {
    return R"({"close":{}})";
}

bool is_close_request(std::string_view text) {
    return has_key(text, "close");
}

std::string turn_request(LockKind kind) {
    return line({{"turn", name(kind)}});
}

std::optional<LockKind> turn_requested(std::string_view text) {
    const auto object = try_parse_json(text);
    if (!object || !object->is_object() || !object->contains("turn")) return std::nullopt;
    for (const auto kind : {LockKind::shared, LockKind::exclusive})
        if ((*object)["turn"] == name(kind)) return kind;
    return std::nullopt;
}

Result<OpenRequest> open_request_from_json(std::string_view text) {
    return parsed<OpenRequest>(text, "request to open a call", [](const json& whole) {
        const auto& object = field(whole, "open");
        OpenRequest request;
        request.call = get_text(object, "call");
        request.kernel_text = get_text(object, "kernel_text");
        request.weights = get_text(object, "weights", "");
        request.device = get_text(object, "device", "cpu");
        if (const json* given = optional_field(object, "precision"))
            request.precision = at("precision", [&] { return torch_precision_from(*given); });
        request.authored = get_bool(object, "authored", false);
        request.check_text = get_bool(object, "check_text", true);
        return request;
    });
}

Result<OpenReply> open_reply_from_json(std::string_view text) {
    return parsed<OpenReply>(text, "reply of the worker", [](const json& object) {
        OpenReply reply;
        reply.error = get_text(object, "error");
        reply.text_checks = checks_from(field(object, "text_checks"));
        reply.note = get_text(object, "note");
        return reply;
    });
}

Result<CandidateRequest> candidate_request_from_json(std::string_view text) {
    return parsed<CandidateRequest>(text, "request to try a candidate", [](const json& whole) {
        const auto& object = field(whole, "candidate");
        CandidateRequest request;
        request.cubin = get_text(object, "cubin", "");
        request.record = get_text(object, "record", "");
        request.single_ms = get_finite(object, "single_ms", request.single_ms);
        request.sustained_ms = get_finite(object, "sustained_ms", 0);
        request.fault = get_text(object, "fault", "");
        const auto proof = get_text(object, "proof", "full");
        if (proof != "full" && proof != "quick")
            throw SchemaError("\"proof\" is neither full nor quick");
        request.proof = proof == "quick" ? Proof::quick : Proof::full;
        return request;
    });
}

CandidateReply candidate_reply_from(const json& object) {
    CandidateReply reply;
    const auto outcome = outcome_from_name(get_text(object, "outcome"));
    if (!outcome) throw SchemaError("\"outcome\" is not the name of an outcome");
    reply.outcome = *outcome;
    reply.why = get_text(object, "why");
    reply.checks = checks_from(field(object, "checks"));
    reply.single = times_from(object, "single");
    reply.baseline_single = times_from(object, "baseline_single");
    reply.sustained = times_from(object, "sustained");
    reply.baseline_sustained = times_from(object, "baseline_sustained");
    // Results of earlier versions lack the fields below.
    const auto finding = finding_from_name(get_text(object, "finding", ""));
    if (!finding) throw SchemaError("\"finding\" is not the name of a finding");
    reply.finding = *finding;
    reply.note = get_text(object, "note", "");
    if (const json* launches = optional_field(object, "launches"))
        for (const auto& launch : to_array(*launches))
            reply.launches.push_back({get_text(launch, "entry"), get_finite(launch, "us")});
    return reply;
}

Result<CandidateReply> candidate_reply_from_json(std::string_view text) {
    return parsed<CandidateReply>(text, "reply of the worker", candidate_reply_from);
}

}  // namespace fact::verify

#include "verify/protocol.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/enum_table.h"

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

// JSON has no infinities and no NaN, and errors may be either.
json number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

double number_from(const json& value) {
    if (!value.is_string()) return value.get<double>();
    const auto text = value.get<std::string>();
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
    const auto& t = object.at(key);
    return {number_from(t.at("median_us")), number_from(t.at("low_us")),
            number_from(t.at("high_us")), t.at("runs").get<int>()};
}

json errors(const ErrorPair& e) {
    return {{"largest", number(e.largest)}, {"rms", number(e.rms)}};
}

ErrorPair errors_from(const json& e) {
    return {number_from(e.at("largest")), number_from(e.at("rms"))};
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
    for (const auto& item : array)
        list.push_back({item.at("distribution").get<std::string>(), item.at("seed").get<int>(),
                        errors_from(item.at("eager")), errors_from(item.at("kernel")),
                        item.at("passed").get<bool>(), item.at("why").get<std::string>(),
                        item.contains("slice") ? number_from(item["slice"]) : 0});
    return list;
}

std::string line(const json& object) {
    // Text from other programs may not be UTF-8; a reply must never be lost to that.
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Reads `text` with `read`; what json throws becomes an Error.
template <class T, class Read>
Result<T> parsed(std::string_view text, std::string_view what, Read read) {
    try {
        return read(json::parse(text));
    } catch (const std::exception& error) {
        return Error{fmt::format("not a {}: {}", what, error.what()), {}};
    }
}

json launches(const std::vector<LaunchTime>& times) {
    json list = json::array();
    for (const auto& one : times) list.push_back({{"entry", one.entry}, {"us", one.us}});
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
                   {"precision", json::parse(to_json(request.precision))},
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

std::string to_json(const CandidateReply& reply) {
    return line({{"outcome", name(reply.outcome)},
                 {"why", reply.why},
                 {"checks", checks(reply.checks)},
                 {"single", times(reply.single)},
                 {"baseline_single", times(reply.baseline_single)},
                 {"sustained", times(reply.sustained)},
                 {"baseline_sustained", times(reply.baseline_sustained)},
                 {"launches", launches(reply.launches)},
                 {"finding", name(reply.finding)},
                 {"note", reply.note}});
}

bool is_open_request(std::string_view text) {
    const auto object = json::parse(text, nullptr, false);
    return object.is_object() && object.contains("open");
}

Result<OpenRequest> open_request_from_json(std::string_view text) {
    return parsed<OpenRequest>(text, "request to open a call", [](const json& whole) {
        const auto& object = whole.at("open");
        OpenRequest request;
        request.call = object.at("call");
        request.kernel_text = object.at("kernel_text");
        request.weights = object.value("weights", "");
        request.device = object.value("device", "cpu");
        if (const auto given = object.find("precision"); given != object.end()) {
            const auto precision = torch_precision_from_json(given->dump());
            if (!precision) throw std::runtime_error(precision.error().message);
            request.precision = *precision;
        }
        request.authored = object.value("authored", false);
        request.check_text = object.value("check_text", true);
        return request;
    });
}

Result<OpenReply> open_reply_from_json(std::string_view text) {
    return parsed<OpenReply>(text, "reply of the worker", [](const json& object) {
        OpenReply reply;
        reply.error = object.at("error");
        reply.text_checks = checks_from(object.at("text_checks"));
        reply.note = object.at("note");
        return reply;
    });
}

Result<CandidateRequest> candidate_request_from_json(std::string_view text) {
    return parsed<CandidateRequest>(text, "request to try a candidate", [](const json& whole) {
        const auto& object = whole.at("candidate");
        CandidateRequest request;
        request.cubin = object.value("cubin", "");
        request.record = object.value("record", "");
        request.single_ms = object.value("single_ms", request.single_ms);
        request.sustained_ms = object.value("sustained_ms", 0.0);
        request.fault = object.value("fault", "");
        const auto proof = object.value("proof", "full");
        if (proof != "full" && proof != "quick") throw std::runtime_error("a proof nobody knows");
        request.proof = proof == "quick" ? Proof::quick : Proof::full;
        return request;
    });
}

Result<CandidateReply> candidate_reply_from_json(std::string_view text) {
    return parsed<CandidateReply>(text, "reply of the worker", [](const json& object) {
        CandidateReply reply;
        const auto outcome = outcome_from_name(object.at("outcome").get<std::string>());
        if (!outcome) throw std::runtime_error("an outcome nobody knows");
        reply.outcome = *outcome;
        reply.why = object.at("why");
        reply.checks = checks_from(object.at("checks"));
        reply.single = times_from(object, "single");
        reply.baseline_single = times_from(object, "baseline_single");
        reply.sustained = times_from(object, "sustained");
        reply.baseline_sustained = times_from(object, "baseline_sustained");
        // Results of earlier versions have none of these.
        const auto finding = finding_from_name(object.value("finding", ""));
        if (!finding) throw std::runtime_error("a finding nobody knows");
        reply.finding = *finding;
        reply.note = object.value("note", "");
        for (const auto& one : object.value("launches", json::array()))
            reply.launches.push_back({one.at("entry"), one.at("us")});
        return reply;
    });
}

}  // namespace fact::verify

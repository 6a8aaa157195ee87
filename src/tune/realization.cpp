#include "tune/realization.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "support/json_fields.h"

namespace fact::tune {

namespace {

using nlohmann::json;
using verify::CandidateReply;

// Checks and times are written by the worker's protocol, so that their JSON is defined only once.
json candidate_json(const CandidateResult& candidate) {
    CandidateReply reply;
    reply.outcome = candidate.outcome;
    reply.why = candidate.why;
    reply.checks = candidate.checks;
    reply.single = candidate.single;
    reply.baseline_single = candidate.baseline_single;
    reply.sustained = candidate.sustained;
    reply.baseline_sustained = candidate.baseline_sustained;
    reply.launches = candidate.launches;
    reply.finding = candidate.finding;
    reply.note = candidate.note;
    return {{"name", candidate.name},
            {"schedule", candidate.schedule},
            {"reply", json_of(reply)},
            {"expected_us", candidate.expected_us},
            {"compile_key", candidate.compile_key},
            {"compile_seconds", candidate.compile_seconds},
            {"measure_seconds", candidate.measure_seconds},
            {"cached", candidate.cached},
            {"registers", candidate.registers},
            {"spill_bytes", candidate.spill_bytes},
            {"fitness", candidate.fitness}};
}

CandidateResult candidate_from(const json& object) {
    CandidateReply reply = verify::candidate_reply_from(field(object, "reply"));
    CandidateResult candidate;
    candidate.name = get_text(object, "name");
    candidate.schedule = get_text(object, "schedule");
    candidate.outcome = reply.outcome;
    candidate.why = reply.why;
    candidate.checks = reply.checks;
    candidate.single = reply.single;
    candidate.baseline_single = reply.baseline_single;
    candidate.sustained = reply.sustained;
    candidate.baseline_sustained = reply.baseline_sustained;
    candidate.launches = reply.launches;
    candidate.finding = reply.finding;
    candidate.note = reply.note;
    candidate.expected_us = get_finite(object, "expected_us", 0);
    candidate.compile_key = get_text(object, "compile_key");
    candidate.compile_seconds = get_finite(object, "compile_seconds");
    candidate.measure_seconds = get_finite(object, "measure_seconds", 0);
    candidate.cached = get_bool(object, "cached");
    candidate.registers = get_int<int>(object, "registers");
    candidate.spill_bytes = get_int<int>(object, "spill_bytes");
    candidate.fitness = get_text(object, "fitness", "");
    return candidate;
}

Realization realization_from(const json& object) {
    const CandidateReply best = verify::candidate_reply_from(field(object, "best"));
    Realization r;
    r.family = get_text(object, "family");
    r.kernel = get_text(object, "kernel");
    r.key = get_text(object, "key");
    r.realized = get_bool(object, "realized");
    r.why = get_text(object, "why");
    r.device = get_text(object, "device");
    r.measured = get_bool(object, "measured");
    r.winner = get_text(object, "winner");
    r.schedule = get_text(object, "schedule");
    r.precision = get_text(object, "precision");
    r.text_checks = verify::candidate_reply_from(field(object, "text")).checks;
    r.checks = best.checks;
    r.single = best.single;
    r.baseline_single = best.baseline_single;
    r.sustained = best.sustained;
    r.baseline_sustained = best.baseline_sustained;
    for (const auto& candidate : to_array(field(object, "candidates")))
        r.candidates.push_back(candidate_from(candidate));
    r.measurements = get_int(object, "measurements", 0);
    r.stopped = get_text(object, "stopped", "");
    r.note = get_text(object, "note");
    r.prepare_seconds = get_finite(object, "prepare_seconds", 0);
    r.seconds = get_finite(object, "seconds");
    if (const json* files = optional_field(object, "files"))
        for (const auto& [name, hash] : to_object(*files).items()) r.files[name] = to_text(hash);
    r.headers = get_text(object, "headers", "");
    r.exact_instead = get_bool(object, "exact_instead", false);
    // Earlier results do not say it, but only files have no schedule that is spelled.
    const auto winner = std::ranges::find(r.candidates, r.winner, &CandidateResult::name);
    r.from_file =
        get_bool(object, "from_file", winner != r.candidates.end() && winner->schedule.empty());
    return r;
}

// Text from compilers and crashed programs need not be UTF-8.
std::string dump(const json& object, int indent) {
    return object.dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Realization& r) {
    CandidateReply text, best;
    text.outcome = verify::Outcome::passed;
    text.checks = r.text_checks;
    best.outcome = r.realized ? verify::Outcome::passed : verify::Outcome::unsupported;
    best.checks = r.checks;
    best.single = r.single;
    best.baseline_single = r.baseline_single;
    best.sustained = r.sustained;
    best.baseline_sustained = r.baseline_sustained;
    json candidates = json::array();
    for (const auto& candidate : r.candidates) candidates.push_back(candidate_json(candidate));
    const json object = {{"family", r.family},
                         {"kernel", r.kernel},
                         {"key", r.key},
                         {"realized", r.realized},
                         {"why", r.why},
                         {"device", r.device},
                         {"measured", r.measured},
                         {"winner", r.winner},
                         {"schedule", r.schedule},
                         {"precision", r.precision},
                         {"exact_instead", r.exact_instead},
                         {"from_file", r.from_file},
                         {"text", json_of(text)},
                         {"best", json_of(best)},
                         {"candidates", candidates},
                         {"measurements", r.measurements},
                         {"stopped", r.stopped},
                         {"note", r.note},
                         {"seconds", r.seconds},
                         {"prepare_seconds", r.prepare_seconds},
                         {"files", r.files},
                         {"headers", r.headers}};
    return dump(object, 2) + "\n";
}

Result<Realization> realization_from_json(std::string_view text) {
    return decoding<Realization>("not a result of realize", "Remove the file and realize again.",
                                 [&] { return realization_from(parse_json(text)); });
}

std::string to_json_line(const std::string& family, const CandidateResult& candidate) {
    json object = candidate_json(candidate);
    object["family"] = family;
    return dump(object, -1) + "\n";
}

std::string precision_text(const Realization& r) {
    return r.exact_instead && !r.precision.empty() ? r.precision + " for tf32" : r.precision;
}

std::string summary(const std::vector<CandidateResult>& candidates) {
    std::map<verify::Outcome, int> counts;
    for (const auto& candidate : candidates) ++counts[candidate.outcome];
    std::string text =
        fmt::format("{} candidate{}", candidates.size(), candidates.size() == 1 ? "" : "s");
    const char* separator = ": ";
    for (auto [outcome, count] : counts) {
        std::string words(verify::name(outcome));
        std::replace(words.begin(), words.end(), '_', ' ');
        text += fmt::format("{}{} {}", separator, count, words);
        separator = ", ";
    }
    return text;
}

}  // namespace fact::tune

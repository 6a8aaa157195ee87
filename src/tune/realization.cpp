#include "tune/realization.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace fact::tune {

namespace {

using nlohmann::json;
using verify::CandidateReply;

// Checks and times are spelled once, by the worker's protocol.
json reply_json(const CandidateReply& reply) {
    return json::parse(verify::to_json(reply));
}

CandidateReply reply_from(const json& object) {
    auto reply = verify::candidate_reply_from_json(object.dump());
    if (!reply) throw std::runtime_error(reply.error().message);
    return std::move(reply).value();
}

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
            {"reply", reply_json(reply)},
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
    CandidateReply reply = reply_from(object.at("reply"));
    CandidateResult candidate;
    candidate.name = object.at("name");
    candidate.schedule = object.at("schedule");
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
    candidate.expected_us = object.value("expected_us", 0.0);
    candidate.compile_key = object.at("compile_key");
    candidate.compile_seconds = object.at("compile_seconds");
    candidate.measure_seconds = object.value("measure_seconds", 0.0);
    candidate.cached = object.at("cached");
    candidate.registers = object.at("registers");
    candidate.spill_bytes = object.at("spill_bytes");
    candidate.fitness = object.value("fitness", "");
    return candidate;
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
                         {"text", reply_json(text)},
                         {"best", reply_json(best)},
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
    try {
        const json object = json::parse(text);
        const CandidateReply best = reply_from(object.at("best"));
        Realization r;
        r.family = object.at("family");
        r.kernel = object.at("kernel");
        r.key = object.at("key");
        r.realized = object.at("realized");
        r.why = object.at("why");
        r.device = object.at("device");
        r.measured = object.at("measured");
        r.winner = object.at("winner");
        r.schedule = object.at("schedule");
        r.precision = object.at("precision");
        r.text_checks = reply_from(object.at("text")).checks;
        r.checks = best.checks;
        r.single = best.single;
        r.baseline_single = best.baseline_single;
        r.sustained = best.sustained;
        r.baseline_sustained = best.baseline_sustained;
        for (const auto& candidate : object.at("candidates"))
            r.candidates.push_back(candidate_from(candidate));
        r.measurements = object.value("measurements", 0);
        r.stopped = object.value("stopped", "");
        r.note = object.at("note");
        r.prepare_seconds = object.value("prepare_seconds", 0.0);
        r.seconds = object.at("seconds");
        r.files = object.value("files", r.files);
        r.headers = object.value("headers", "");
        return r;
    } catch (const std::exception& error) {
        return Error{fmt::format("not a result of realize: {}", error.what()),
                     "Remove the file and realize again."};
    }
}

std::string to_json_line(const std::string& family, const CandidateResult& candidate) {
    json object = candidate_json(candidate);
    object["family"] = family;
    return dump(object, -1) + "\n";
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

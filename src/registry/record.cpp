#include "registry/record.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "registry/identity.h"
#include "support/json_fields.h"

namespace fact::registry {

namespace {

using Json = nlohmann::ordered_json;
using Parsed = nlohmann::json;

Json json_of(const Times& t) {
    return {
        {"median_us", t.median_us}, {"low_us", t.low_us}, {"high_us", t.high_us}, {"runs", t.runs}};
}

Times times_from(const Parsed& json) {
    Times t{get_finite(json, "median_us"), get_finite(json, "low_us"), get_finite(json, "high_us"),
            get_int<int>(json, "runs")};
    if (t.runs < 0 || t.median_us < 0 || (t.runs > 0 && t.median_us == 0))
        throw SchemaError("a time is not greater than 0");
    if (t.runs > 0 && !(t.low_us <= t.median_us && t.median_us <= t.high_us))
        throw SchemaError("a median is not between its low and its high time");
    return t;
}

Json json_of(const Errors& e) {
    return {{"largest", e.largest}, {"rms", e.rms}};
}

Errors errors_from(const Parsed& json) {
    return {get_finite(json, "largest"), get_finite(json, "rms")};
}

Json json_of(const std::vector<Check>& checks) {
    Json list = Json::array();
    for (const auto& check : checks)
        list.push_back({{"distribution", check.distribution},
                        {"seed", check.seed},
                        {"eager", json_of(check.eager)},
                        {"kernel", json_of(check.kernel)}});
    return list;
}

std::vector<Check> checks_from(const Parsed& list) {
    std::vector<Check> checks;
    for (const auto& json : to_array(list))
        checks.push_back({get_text(json, "distribution"), get_int<int>(json, "seed"),
                          errors_from(field(json, "eager")), errors_from(field(json, "kernel"))});
    return checks;
}

Json json_of(const Work& w) {
    Json tensors = Json::array();
    for (const auto& tensor : w.tensors)
        tensors.push_back({{"name", tensor.name},
                           {"constant", tensor.constant},
                           {"alignment", tensor.alignment},
                           {"dims", tensor.dims}});
    Json extents = Json::object();
    for (const auto& [name, extent] : w.extents) extents[name] = extent;
    return {{"rule", w.rule},
            {"dtype", w.dtype},
            {"output", w.output},
            {"split", w.split},
            {"allow_tf32", w.allow_tf32},
            {"a_along_k", w.a_along_k},
            {"b_along_k", w.b_along_k},
            {"m", w.m},
            {"n", w.n},
            {"k", w.k},
            {"batch", w.batch},
            {"extents", extents},
            {"tensors", tensors},
            {"arch", w.arch},
            {"gpu", w.gpu},
            {"call", w.call},
            {"text", w.text}};
}

Work work_from(const Parsed& json) {
    Work w;
    w.rule = get_text(json, "rule");
    w.dtype = get_text(json, "dtype");
    w.output = get_text(json, "output");
    w.split = get_bool(json, "split");
    w.allow_tf32 = get_bool(json, "allow_tf32");
    w.a_along_k = get_bool(json, "a_along_k");
    w.b_along_k = get_bool(json, "b_along_k");
    w.m = get_int(json, "m");
    w.n = get_int(json, "n");
    w.k = get_int(json, "k");
    w.batch = get_int(json, "batch");
    for (const auto& [name, extent] : to_object(field(json, "extents")).items())
        w.extents[name] = to_int(extent);
    for (const auto& tensor : to_array(field(json, "tensors"))) {
        std::vector<int> dims;
        for (const auto& dim : to_array(field(tensor, "dims"))) dims.push_back(to_int<int>(dim));
        w.tensors.push_back({get_text(tensor, "name"), get_bool(tensor, "constant"),
                             get_int<int>(tensor, "alignment"), std::move(dims)});
    }
    w.arch = get_text(json, "arch");
    w.gpu = get_text(json, "gpu");
    w.call = get_text(json, "call");
    w.text = get_text(json, "text");
    return w;
}

Record record_from(const Parsed& json) {
    Record r;
    r.work = work_from(field(json, "work"));
    const auto& toolchain = field(json, "toolchain");
    r.toolchain = {get_text(toolchain, "versions"), get_text(toolchain, "code"),
                   get_text(toolchain, "compile_key")};
    r.kernel = get_text(json, "kernel");
    r.schedule = get_text(json, "schedule");
    r.precision = get_text(json, "precision");
    r.effort = get_int<int>(json, "effort");
    r.candidates = get_int<int>(json, "candidates");
    const auto& times = field(json, "times");
    r.single = times_from(field(times, "single"));
    r.torch_single = times_from(field(times, "torch_single"));
    // The format calls sustained times "held".
    r.sustained = times_from(field(times, "held"));
    r.torch_sustained = times_from(field(times, "torch_held"));
    r.checks = checks_from(field(json, "checks"));
    r.text_checks = checks_from(field(json, "text_checks"));
    r.note = get_text(json, "note");
    r.proof = get_text(json, "proof");
    const auto& p = field(json, "provenance");
    r.provenance = {get_text(p, "date"), get_text(p, "fact"), get_text(p, "commit"),
                    get_text(p, "torch")};
    return r;
}

// Why the record cannot be trusted; "" if it can.
std::string why_untrusted(const Record& r) {
    if (r.single.runs == 0) return "it has no measurement";
    if (r.checks.empty()) return "its kernel was not checked";
    if (r.work.gpu.empty() || r.work.arch.empty())
        return "it does not say on which GPU it was measured";
    if (r.work.text.empty()) return "it has no kernel text";
    for (const auto* checks : {&r.checks, &r.text_checks})
        for (const auto& check : *checks)
            for (const double error : {check.kernel.largest, check.kernel.rms})
                if (!std::isfinite(error) || error < 0)
                    return "one of its errors is negative or not a number";
    return {};
}

// Throws a SchemaError if the record cannot be trusted.
Record sound_record(const Parsed& json) {
    if (!json.is_object() || !json.contains("format")) throw SchemaError("it has no format");
    if (const int format = get_int<int>(json, "format"); format != kFormat)
        throw SchemaError(fmt::format(
            "it has format {}, but this version of FACT reads format {} only", format, kFormat));
    Record r = record_from(json);
    if (const auto why = why_untrusted(r); !why.empty()) throw SchemaError(why);
    if (const auto& stated = get_text(json, "key"); stated != key(r))
        throw SchemaError(
            fmt::format("its key is {}, but its content has the key {}", stated, key(r)));
    return r;
}

}  // namespace

Json json_of(const Record& r) {
    return {{"format", kFormat},
            {"key", key(r)},
            {"work", json_of(r.work)},
            {"kernel", r.kernel},
            {"schedule", r.schedule},
            {"precision", r.precision},
            {"times",
             {{"single", json_of(r.single)},
              {"torch_single", json_of(r.torch_single)},
              {"held", json_of(r.sustained)},
              {"torch_held", json_of(r.torch_sustained)}}},
            {"checks", json_of(r.checks)},
            {"text_checks", json_of(r.text_checks)},
            {"note", r.note},
            {"proof", r.proof},
            {"effort", r.effort},
            {"candidates", r.candidates},
            {"toolchain",
             {{"versions", r.toolchain.versions},
              {"code", r.toolchain.code},
              {"compile_key", r.toolchain.compile_key}}},
            {"provenance",
             {{"date", r.provenance.date},
              {"fact", r.provenance.fact},
              {"commit", r.provenance.commit},
              {"torch", r.provenance.torch}}}};
}

std::string to_json(const Record& r, int indent) {
    return json_of(r).dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Record> record_from_json(std::string_view text) {
    auto record = decoding<Record>("not a record of the registry", "",
                                   [&] { return sound_record(parse_json(text)); });
    if (!record) return blame_input(record.error());
    return record;
}

Exactness exactness(const Record& record) {
    Exactness worst;
    for (const auto& check : record.checks)
        if (check.kernel.largest >= worst.kernel)
            worst = {check.kernel.largest, check.eager.largest};
    return worst;
}

}  // namespace fact::registry

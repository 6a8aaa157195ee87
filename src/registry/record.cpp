#include "registry/record.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "registry/identity.h"

namespace fact::registry {

namespace {

using Json = nlohmann::ordered_json;

// A count or an extent; what is none, or too large to be one, is thrown.
template <class Whole>
Whole whole(const Json& json) {
    const bool fits = json.is_number_unsigned()  ? std::in_range<Whole>(json.get<std::uint64_t>())
                      : json.is_number_integer() ? std::in_range<Whole>(json.get<std::int64_t>())
                                                 : false;
    if (!fits)
        throw std::runtime_error(fmt::format("{} is not a count", json.dump().substr(0, 40)));
    return json.get<Whole>();
}

Json json_of(const Times& t) {
    return {
        {"median_us", t.median_us}, {"low_us", t.low_us}, {"high_us", t.high_us}, {"runs", t.runs}};
}

Times times_from(const Json& json) {
    Times t{json.at("median_us"), json.at("low_us"), json.at("high_us"),
            whole<int>(json.at("runs"))};
    if (t.runs < 0 || t.median_us < 0 || (t.runs > 0 && t.median_us == 0))
        throw std::runtime_error("a time of no duration");
    if (t.runs > 0 && !(t.low_us <= t.median_us && t.median_us <= t.high_us))
        throw std::runtime_error("a median outside of its spread");
    return t;
}

Json json_of(const Errors& e) {
    return {{"largest", e.largest}, {"rms", e.rms}};
}

Errors errors_from(const Json& json) {
    return {json.at("largest"), json.at("rms")};
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

std::vector<Check> checks_from(const Json& list) {
    std::vector<Check> checks;
    for (const auto& json : list)
        checks.push_back({json.at("distribution"), whole<int>(json.at("seed")),
                          errors_from(json.at("eager")), errors_from(json.at("kernel"))});
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

Work work_from(const Json& json) {
    Work w;
    w.rule = json.at("rule");
    w.dtype = json.at("dtype");
    w.output = json.at("output");
    w.split = json.at("split");
    w.allow_tf32 = json.at("allow_tf32");
    w.a_along_k = json.at("a_along_k");
    w.b_along_k = json.at("b_along_k");
    w.m = whole<decltype(w.m)>(json.at("m"));
    w.n = whole<decltype(w.n)>(json.at("n"));
    w.k = whole<decltype(w.k)>(json.at("k"));
    w.batch = whole<decltype(w.batch)>(json.at("batch"));
    for (const auto& [name, extent] : json.at("extents").items())
        w.extents[name] = whole<std::int64_t>(extent);
    for (const auto& tensor : json.at("tensors")) {
        std::vector<int> dims;
        for (const auto& dim : tensor.at("dims")) dims.push_back(whole<int>(dim));
        w.tensors.push_back({tensor.at("name"), tensor.at("constant"),
                             whole<int>(tensor.at("alignment")), std::move(dims)});
    }
    w.arch = json.at("arch");
    w.gpu = json.at("gpu");
    w.call = json.at("call");
    w.text = json.at("text");
    return w;
}

Record record_from(const Json& json) {
    Record r;
    r.work = work_from(json.at("work"));
    const auto& toolchain = json.at("toolchain");
    r.toolchain = {toolchain.at("versions"), toolchain.at("code"), toolchain.at("compile_key")};
    r.kernel = json.at("kernel");
    r.schedule = json.at("schedule");
    r.precision = json.at("precision");
    r.effort = whole<int>(json.at("effort"));
    r.candidates = whole<int>(json.at("candidates"));
    const auto& times = json.at("times");
    r.single = times_from(times.at("single"));
    r.torch_single = times_from(times.at("torch_single"));
    r.sustained = times_from(times.at("held"));
    r.torch_sustained = times_from(times.at("torch_held"));
    r.checks = checks_from(json.at("checks"));
    r.text_checks = checks_from(json.at("text_checks"));
    r.note = json.at("note");
    r.proof = json.at("proof");
    const auto& p = json.at("provenance");
    r.provenance = {p.at("date"), p.at("fact"), p.at("commit"), p.at("torch")};
    return r;
}

// Why the record cannot be trusted, or "".
std::string unsound(const Record& r) {
    if (r.single.runs == 0) return "it has no measurement";
    if (r.checks.empty()) return "its kernel was not checked";
    if (r.work.gpu.empty() || r.work.arch.empty()) return "it does not say on which GPU";
    if (r.work.text.empty()) return "it has no kernel text";
    for (const auto* checks : {&r.checks, &r.text_checks})
        for (const auto& check : *checks)
            for (const double error : {check.kernel.largest, check.kernel.rms})
                if (!std::isfinite(error) || error < 0) return "one of its errors is not a number";
    return {};
}

Error refused(const std::string& why) {
    return {"not a record of the registry: " + why, {}, true};
}

}  // namespace

std::string to_json(const Record& r, int indent) {
    const Json json = {{"format", kFormat},
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
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Record> record_from_json(std::string_view text) {
    try {
        const Json json = Json::parse(text);
        if (!json.is_object() || !json.contains("format")) return refused("it has no format");
        if (const int format = whole<int>(json.at("format")); format != kFormat)
            return refused(fmt::format("it is of format {}, and this FACT reads format {} only",
                                       format, kFormat));
        const Record r = record_from(json);
        if (const auto why = unsound(r); !why.empty()) return refused(why);
        if (const std::string said = json.at("key"); said != key(r))
            return refused(fmt::format("it calls itself {}, but its content is {}", said, key(r)));
        return r;
    } catch (const std::exception& error) {
        return refused(error.what());
    }
}

Exactness exactness(const Record& record) {
    Exactness worst;
    for (const auto& check : record.checks)
        if (check.kernel.largest >= worst.kernel)
            worst = {check.kernel.largest, check.eager.largest};
    return worst;
}

}  // namespace fact::registry

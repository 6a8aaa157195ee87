#include "driver/bench.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/memo.h"
#include "driver/python_ahead.h"
#include "driver/run_state.h"
#include "support/files.h"
#include "support/json_fields.h"
#include "support/progress.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

Times times(const Json& row, const char* key) {
    const Json* json = optional_field(row, key);
    if (!json || !json->is_object()) return {};
    return {get_finite(*json, "median_us", 0), get_finite(*json, "low_us", 0),
            get_finite(*json, "high_us", 0), get_int(*json, "runs", 0)};
}

Result<Benched> parse(const std::string& text) {
    return decoding<Benched>("the benchmark's result cannot be read", "", [&] {
        Benched out;
        out.json = text;
        const auto json = parse_json(text);
        for (const auto& row : to_array(field(json, "rows")))
            out.whole.push_back({get_text(row, "name"), times(row, "single"),
                                 times(row, "sustained"), get_text(row, "why", ""),
                                 get_finite(row, "peak_bytes", 0),
                                 get_text(row, "sustained_of", "")});
        // Null where nothing was compared.
        if (const Json* agrees = optional_field(json, "agrees"); agrees && agrees->is_boolean())
            out.agrees = to_bool(*agrees);
        out.note = get_text(json, "note", "");
        out.date = get_text(json, "date", "");
        return out;
    });
}

// Parses the result of an earlier run.
Result<Benched> parse_earlier(const std::string& text) {
    auto out = parse(text);
    if (!out) return out;
    out->earlier = true;
    return out;
}

}  // namespace

Result<Benched> bench(const Environment& environment, const BenchRequest& request) {
    const TemporaryFolder work(fs::temp_directory_path(), "fact-bench");
    const auto result = work.path() / "bench.json";
    std::vector<std::string> arguments{request.package.string(), "--source", request.source,
                                       "--json", result.string()};
    if (!request.dtype.empty()) arguments.insert(arguments.end(), {"--dtype", request.dtype});
    if (request.allow_tf32) arguments.push_back("--allow-tf32");
    if (request.training) arguments.push_back("--training");
    if (!request.peers.empty()) arguments.insert(arguments.end(), {"--peers", request.peers});
    if (request.brief) arguments.push_back("--brief");
    // On the CPU the kernels' texts are interpreted; on a GPU that cannot run the kernels, torch
    // would be compared with itself.
    if (!environment.gpu) arguments.insert(arguments.end(), {"--device", "cpu"});
    if (request.verbose) arguments.push_back("--verbose");
    const auto exit = run_python(environment, "fact.bench", arguments);
    if (!exit) return exit.error();
    if (interrupted()) return Error{"interrupted", {}};
    if (const auto bad = bad_input_of(*exit)) return *bad;
    std::error_code ignored;
    if (!fs::exists(result, ignored))
        return Error{fmt::format("the benchmark failed ({}):\n{}",
                                 exit->signal ? fmt::format("signal {}", exit->signal)
                                              : fmt::format("exit code {}", exit->code),
                                 exit->err),
                     {}};
    const auto text = read_file(result);
    if (!text) return text.error();
    return parse(*text);
}

Result<Benched> bench_stage(const Environment& environment, const BenchRequest& request,
                            const RunFolder& run, const BenchInputs& from) {
    const auto inputs = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", from.package, request.source,
                                    request.dtype, request.allow_tf32, request.training,
                                    request.brief, environment.gpu ? environment.gpu->name : "");
    // Brief times are not those of a run that asks for all.
    const auto anywhere =
        from.anywhere.empty() ? "" : from.anywhere + (request.brief ? "\nbrief" : "");
    const auto keep = [&](const Benched& done) -> Result<> {
        if (auto written = write_file_atomic(run.bench(), done.json); !written) return written;
        return run.stamp("bench", inputs);
    };
    Progress progress("bench", 0);
    if (run.current("bench", inputs))
        if (const auto text = read_file(run.bench()); text)
            if (auto before = parse_earlier(*text); before) {
                progress.finish("unchanged since the last run");
                return before;
            }
    if (!anywhere.empty())
        if (const auto text = find_memo(environment, "bench", anywhere))
            if (auto before = parse_earlier(*text); before) {
                if (auto kept = keep(*before); !kept) return kept.error();
                progress.finish("known from an earlier run");
                return before;
            }
    progress.status("eager, torch.compile and the composed module");
    auto done = bench(environment, request);
    if (!done) return done;
    if (auto kept = keep(*done); !kept) return kept.error();
    if (auto noted = append_journal(run, "bench", done->json); !noted) return noted.error();
    if (!anywhere.empty())
        if (auto kept = store_memo(environment, "bench", anywhere, done->json); !kept)
            return kept.error();
    progress.finish(environment.gpu            ? "measured"
                    : done->agrees.has_value() ? "results compared, not timed"
                                               : "neither compared nor timed");
    return done;
}

}  // namespace fact::driver

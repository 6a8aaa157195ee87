#include "driver/run_state.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "support/clock.h"
#include "support/files.h"
#include "support/json_fields.h"
#include "support/subprocess.h"

namespace fact::driver {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::filesystem::path state_file(const RunFolder& run) {
    return run.path() / "state.json";
}

bool alive(long process) {
    return process > 0 && (::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
}

}  // namespace

std::optional<RunState> run_state(const RunFolder& run) {
    const auto text = read_file(state_file(run));
    if (!text) return std::nullopt;
    RunState s;
    try {
        const auto json = parse_json(*text);
        s.stage = get_text(json, "stage");
        s.state = get_text(json, "state");
        s.started = get_text(json, "started");
        s.changed = get_text(json, "changed");
        s.device = get_text(json, "device");
        s.why = get_text(json, "why");
        s.process = get_int(json, "process");
    } catch (const SchemaError&) {
        return std::nullopt;
    }
    if (s.state == "running" && !alive(s.process)) s.state = "interrupted";
    return s;
}

RunWatch::RunWatch(const RunFolder& run, std::string device) : run_(run) {
    now_.device = std::move(device);
    now_.started = utc_now();
    now_.process = ::getpid();
}

RunWatch::~RunWatch() {
    if (ended_ || now_.stage.empty()) return;
    if (interrupted()) now_.why.clear();
    write(interrupted() ? "interrupted" : "failed");
}

void RunWatch::enter(std::string_view stage) {
    now_.stage = stage;
    write("running");
}

void RunWatch::finish() {
    ended_ = true;
    write("finished");
}

Error RunWatch::failed(Error error) {
    now_.why = error.message;
    return error;
}

// Ignores failures: other files of the folder cannot be written then either, and that is reported.
void RunWatch::write(std::string_view state) {
    now_.state = state;
    now_.changed = utc_now();
    const OrderedJson json = {{"stage", now_.stage},     {"state", now_.state},
                              {"started", now_.started}, {"changed", now_.changed},
                              {"device", now_.device},   {"why", now_.why},
                              {"process", now_.process}};
    (void)write_file_atomic(state_file(run_), dump_json(json));
}

Result<> append_journal(const RunFolder& run, std::string_view stage, std::string_view json) {
    const auto result = try_parse_json<OrderedJson>(json);
    if (!result) throw InternalError("a journal entry is not JSON");
    const OrderedJson line = {{"stage", stage}, {"when", utc_now()}, {"result", *result}};
    return append_to_file(run.path() / "journal.jsonl",
                          line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

}  // namespace fact::driver

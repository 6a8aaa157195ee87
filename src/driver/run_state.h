// How far a run has got: state.json of its folder, written as each stage begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "driver/run_folder.h"

namespace fact::driver {

struct RunState {
    std::string stage;             // the last one that began
    std::string state;             // "running", "finished", "interrupted" or "failed"
    std::string started, changed;  // UTC
    std::string device;            // "" without a GPU
    std::string why;               // the reason of a failure
    long process = 0;              // the id of the process that writes it
};

// The state in state.json; nullopt if there is none. If the process of a "running" run is gone, the
// state is "interrupted".
std::optional<RunState> run_state(const RunFolder& run);

// Writes state.json while a run goes on. Unless finish() was called, the destructor writes that the
// run was interrupted or failed.
class RunWatch {
  public:
    RunWatch(const RunFolder& run, std::string device);
    ~RunWatch();
    RunWatch(const RunWatch&) = delete;
    RunWatch& operator=(const RunWatch&) = delete;

    void enter(std::string_view stage);
    void finish();
    Error failed(Error error);  // notes its message as the reason, and returns it

  private:
    void write(std::string_view state);
    const RunFolder& run_;
    RunState now_;
    bool ended_ = false;
};

// One line of journal.jsonl: {"stage": stage, "when": ..., "result": <json>}.
Result<> append_journal(const RunFolder& run, std::string_view stage, std::string_view json);

}  // namespace fact::driver

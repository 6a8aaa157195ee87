// Runs other programs, each in a process group of its own, so that a deadline or Ctrl-C ends the
// program and everything it has started.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/result.h"

namespace fact {

using Seconds = std::chrono::duration<double>;

struct Command {
    std::vector<std::string> argv;
    std::vector<std::pair<std::string, std::string>> environment;  // added to ours
    std::string folder;               // its working folder; "" is the current one
    std::string input;                // its standard input
    std::optional<Seconds> deadline;  // after which run() kills it, counted from its start
    bool inherit_output = false;      // let it write to our terminal instead of capturing
    // run() kills it if it writes more bytes to standard output or to standard error; 0: no limit.
    std::size_t max_output = 0;
    // The most address space that each of its processes may reserve; 0: no limit. Not for programs
    // that use a GPU: they reserve far more than they use.
    std::uint64_t address_bytes = 0;
    // The most memory that a LineProcess may use before it is killed; 0: no limit.
    std::uint64_t resident_bytes = 0;
};

struct Exit {
    int code = 0;    // exit status, if it ended by itself
    int signal = 0;  // the signal that ended it, or 0
    bool timed_out = false;
    bool wrote_too_much = false;
    std::string out, err;
    double seconds = 0;
    bool ok() const { return code == 0 && signal == 0 && !timed_out && !wrote_too_much; }
};

// Runs to the end or the deadline; an Error only if the program could not be started.
Result<Exit> run(const Command& command);

// A program that answers one line for each line it is sent.
class LineProcess {
  public:
    static Result<LineProcess> start(const Command& command);
    LineProcess(LineProcess&&) noexcept;
    LineProcess& operator=(LineProcess&&) noexcept;
    ~LineProcess();  // kills the group if it is still running

    enum class Status {
        answered,
        timed_out,
        too_much_memory,  // it was killed because it used more than Command::resident_bytes
        ended,            // by itself
    };
    struct Answer {
        Status status = Status::ended;
        std::string line;  // the answer; without one, the tail of what it wrote to standard error
        int signal = 0, code = 0;  // without an answer: as in Exit
    };
    // Sends `line`, waits for one line back. Unless the status is `answered`, the group is dead.
    Answer ask(const std::string& line, Seconds deadline);
    bool alive() const;
    void kill();

  private:
    LineProcess() = default;
    struct State;
    State* state_ = nullptr;
};

// Ctrl-C: after this, SIGINT and SIGTERM kill every running child group and set the flag that
// interrupted() returns.
void install_interrupt_handler();
bool interrupted();

}  // namespace fact

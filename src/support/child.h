// One running child process group, used by run() and LineProcess. The group ends with this process,
// even if this process is killed by SIGKILL.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "support/subprocess.h"

namespace fact {

// Our ends of the child's pipes are non-blocking.
class Child {
  public:
    enum Pipe { in, out, err };

    // `pipe_input`: the child reads from a pipe instead of the empty /dev/null.
    static Result<Child> spawn(const Command& command, bool pipe_input);
    Child(Child&&) noexcept;
    Child& operator=(Child&&) noexcept;
    ~Child();  // kills and reaps

    bool open(Pipe pipe) const { return pipes_[pipe] >= 0; }
    void close(Pipe pipe);
    // Appends what can be read without waiting, until `to` has `most` bytes or more; closes the
    // pipe at its end.
    void read(Pipe pipe, std::string& to,
              std::size_t most = std::numeric_limits<std::size_t>::max());
    // Sends as much of `text` from `offset` as fits; false if the child no longer reads.
    bool write(const std::string& text, std::size_t& offset);

    // Waits until a pipe is ready (`want_write`: also for writing), at most `timeout`.
    void wait_ready(bool want_write, Seconds timeout) const;

    std::uint64_t resident_bytes() const;  // memory of the program, without processes it started
    bool exited() const;  // the program has ended; processes that it started may still run
    void kill_group() const;
    struct Ending {
        int code = 0, signal = 0;  // the program's exit code, and the signal that ended it or 0
    };
    // Kills the whole group and returns how the program ended.
    Ending reap();
    bool reaped() const { return pid_ <= 0; }

  private:
    Child() = default;
    pid_t pid_ = 0;    // of the program
    pid_t guard_ = 0;  // the group's first process, which kills the group if this process ends
    int slot_ = -1;    // in the registry of groups that Ctrl-C kills
    // Our ends; -1: none, or closed.
    std::array<int, 3> pipes_{-1, -1, -1};
};

}  // namespace fact
